/**
 * `deno task assure workload`: makes the same calls each time, and compares everything that the
 * service answers, sends and stores with what it did when it was recorded.
 */
import { createProgress, type Io } from "../../../tools/command.ts";
import { number } from "../../../tools/table.ts";
import type { Envelope } from "../../../domain/channels/sender.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { NOON } from "../../support/harness/harness.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { ALERTS_SIDE } from "../sim/alert_play.ts";
import { CHECKS_SIDE } from "../sim/check_play.ts";
import { observe, type Observer } from "../sim/play.ts";
import { RUNS_SIDE } from "../sim/run_play.ts";
import type { World, WorldCall, WorldResponse } from "../sim/world.ts";
import { Determined } from "./determined.ts";
import { numbering } from "./names.ts";
import { readAll } from "./reads.ts";
import { differences, type Digest, Recording } from "./record.ts";
import { readRows } from "./rows.ts";
import { callWholeApi } from "./whole_api.ts";

const FILE = new URL("./recorded.json", import.meta.url);

const SEED = 20_261;

/** Calls of a record in which the example of each endpoint is sent; in a shorter one, of some. */
const CALLS_OF_ALL = 5_000;

/** Worlds of which one is read completely; the rows of each one are recorded. */
const WORLDS_PER_READ = 4;

/** Calls for each hostile request, and for each page. */
const CALLS_PER = { hostile: 100, page: 400 } as const;

/** Sequences of commands, which take turns. */
const PLAYS: readonly (readonly [
  name: string,
  play: (seed: number, observer: Observer) => Promise<void>,
])[] = [
  ["runs", (seed, observer) => observe(RUNS_SIDE, seed, observer)],
  ["alerts", (seed, observer) => observe(ALERTS_SIDE, seed, observer)],
  ["checks", (seed, observer) => observe(CHECKS_SIDE, seed, observer)],
];

/** Makes at least `count` calls, the same ones each time; returns the digest of what happened. */
export async function record(
  count: number,
  write: (line: string) => void = () => {},
  onCalls: (calls: number) => void = () => {},
): Promise<Digest> {
  using determined = new Determined(NOON);
  const recording = new Recording(write);
  await callWholeApi({
    ...{ determined, seed: String(SEED) },
    ...chronicle(recording, determined, "api", 0),
    everyEndpoint: Math.ceil(CALLS_OF_ALL / count),
    hostile: Math.ceil(count / CALLS_PER.hostile),
    pages: Math.ceil(count / CALLS_PER.page),
  });
  for (let n = 0; recording.calls < count; n++) {
    const [name, play] = PLAYS[n % PLAYS.length] as typeof PLAYS[number];
    await play(SEED + n, chronicle(recording, determined, name, n + 1));
    onCalls(recording.calls);
  }
  return recording.digest(String(SEED), count);
}

/** Returns what records one world: its calls as they are made, and at the end all that it has. */
function chronicle(recording: Recording, determined: Determined, name: string, n: number) {
  const renamed = numbering();
  const deletions: string[] = [];
  let isReading = false;
  const note = (section: string, text: string) => recording.add(section, `${n} ${renamed(text)}`);
  const onAnswer = (call: WorldCall, answer: WorldResponse) => {
    const text = `${n} ${renamed(textOf(call, answer))}`;
    if (isReading) recording.add(`reads ${name}`, text);
    else recording.addCall(`calls ${name}`, text);
    if (call.path.startsWith("/v1/customers/") && answer.text.startsWith("{")) {
      deletions.push(JSON.parse(answer.text).id ?? "none");
    }
  };
  const read = async (world: World) => {
    isReading = true;
    const headers = name === "api" ? { Authorization: `Bearer ${OPERATOR_KEY}` } : {};
    const names = await readAll(
      async (path, isOperators) => {
        const { text } = await world.send("GET", path, undefined, isOperators ? headers : {});
        return text;
      },
      name === "api",
      deletions,
    );
    isReading = false;
    return names;
  };
  return {
    world: {
      ...{ wrap: (kv: Deno.Kv) => determined.kv(kv), random: determined.random, onAnswer },
      wrapReader: (kv: Deno.Kv) => determined.kv(kv),
      onMessage: ({ id, messages }: Envelope) => {
        if (name !== "api") note(`messages ${name}`, JSON.stringify({ id, messages }));
      },
    },
    onSent: (text: string) => note(`messages ${name}`, text),
    async atEnd(world: World) {
      await world.service.writeCounts(true);
      const names = n % WORLDS_PER_READ === 0 ? await read(world) : new Map<string, string[]>();
      note("verify", JSON.stringify(await verifyStore(world.store, { pauseMs: 0 })));
      const rows = await readRows(world.store);
      const lines = rows.map(([family, text]) =>
        [`rows ${family}`, renamed(text, family)] as const
      );
      // Keys may contain names, whose order says nothing.
      for (const [section, text] of lines.toSorted(byText)) recording.add(section, `${n} ${text}`);
      return names;
    },
  };
}

function byText([a, one]: readonly [string, string], [b, other]: readonly [string, string]) {
  return a === b ? (one < other ? -1 : 1) : a < b ? -1 : 1;
}

/** Writes a call and its answer; of a page, only the status. */
function textOf({ method, path, body = "" }: WorldCall, response: WorldResponse): string {
  const { status, headers, text } = response;
  const call = `${method} ${path} ${body}`;
  if (path.startsWith("/docs") || path.startsWith("/dashboard")) return `${call} => ${status}`;
  const shown = JSON.stringify(Object.fromEntries([...headers].toSorted()));
  return `${call} => ${status} ${shown} ${text}`;
}

/** Makes the calls, and compares the digest with the recorded one, or stores it. */
export async function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  const { count, json } = options;
  const startMs = performance.now();
  const digest = await recordTo(json, count, io);
  io.out(`${number(count)} calls in ${number((performance.now() - startMs) / 1_000)} s`);
  if (options.record) {
    await Deno.writeTextFile(FILE, `${JSON.stringify(digest, null, 2)}\n`);
    io.out("Recorded in tests/assurance/workload/recorded.json");
    return true;
  }
  const recorded: Digest = JSON.parse(await Deno.readTextFile(FILE));
  if (recorded.count !== count) {
    io.out(`Not compared: ${number(recorded.count)} calls are recorded`);
    return true;
  }
  const differing = differences(recorded, digest);
  for (const each of differing) io.fail(`Differs: ${each}`);
  if (differing.length > 0) {
    io.fail("Compare the files of --json=FILE of both versions. If all is as intended: --record");
  }
  return differing.length === 0;
}

/** Makes the calls; writes the lines to a file if there is one. */
async function recordTo(path: string | null, count: number, io: Io): Promise<Digest> {
  using progress = createProgress(io.screen, "calls", count);
  let shown = 0;
  const onCalls = (calls: number) => {
    for (; shown < calls; shown++) progress.step();
  };
  if (path === null) return await record(count, () => {}, onCalls);
  using file = await Deno.create(path);
  const encoder = new TextEncoder();
  return await record(count, (line) => void file.writeSync(encoder.encode(line)), onCalls);
}
