/** The reader of the log stops or goes, or its disk is full: the service answers, and stops in time. */
import { assert, assertEquals } from "@std/assert";
import { DRAIN_MS_MAX } from "../../../domain/core/limits.ts";
import { Process } from "../../support/harness/process.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";
import { openSmallDisk, run } from "../../support/harness/small_disk.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { KEY, number, settingsIn } from "./fault.ts";

/** Calls whose lines are several times what a pipe holds. */
const CALLS = 1_500;

/** Calls sent at once. */
const CLIENTS = 50;

const OPERATOR_KEY = `opk_eu_${"0f".repeat(16)}`;

/** A place for the log whose reader does not read. Always `await using`. */
interface BadLog extends AsyncDisposable {
  readonly path: string;
  /** Lets it go wrong, once the service runs. */
  begin(): Promise<void>;
  /** Whether lines are lost for certain. */
  readonly loses: boolean;
}

/** Ways in which a log goes wrong. */
export const LOGS = {
  "its reader has gone": (folder: string) => pipeIn(folder, true),
  "its reader stops": (folder: string) => pipeIn(folder, false),
  "its disk is full": () =>
    Promise.resolve({
      path: "/dev/full",
      loses: true,
      begin: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
} as const satisfies Record<string, (folder: string) => Promise<BadLog>>;

/** A pipe by a name, whose reader goes, or stays and does not read. */
async function pipeIn(folder: string, readerGoes: boolean): Promise<BadLog> {
  const path = `${folder}/log`;
  await run("mkfifo", path);
  // Opening it waits for the other end.
  const opening = Deno.open(path);
  return {
    path,
    loses: readerGoes,
    begin: async () => {
      const reader = await opening;
      if (readerGoes) reader.close();
    },
    [Symbol.asyncDispose]: async () => {
      if (!readerGoes) (await opening).close();
    },
  };
}

/** Has a service write its log to such a place. */
export async function logBroken(open: (folder: string) => Promise<BadLog>): Promise<string> {
  return await withFolder(async (folder) => {
    await using log = await open(folder);
    await using process = await startLogging(folder, log.path);
    await log.begin();
    await call(process.url);
    // What comes behind those lines' way out is answered, too.
    await call(process.url);
    const dropped = await droppedBy(process.url);
    if (log.loses) assert(dropped > 0, "no line is counted as dropped");
    const { code, ms, stderr } = await process.stop();
    assertEquals([code, stderr.includes("Unhandled")], [0, false], stderr);
    assert(ms < DRAIN_MS_MAX / 2, `it took ${ms} ms to stop`);
    return `${number(2 * CALLS)} calls answered, ${number(dropped)} lines dropped, ended with 0 ` +
      `in ${Math.round(ms)} ms`;
  });
}

/** Has the disk of a log get full and have space again: the log goes on, and says what it lacks. */
export async function logDiskFull(): Promise<string> {
  return await withFolder(async (folder) => {
    await using disk = await openSmallDisk("tmpfs");
    const path = `${disk.folder}/log`;
    await using process = await startLogging(folder, path);
    await call(process.url);
    await disk.fill(process.pid);
    await call(process.url);
    const dropped = await droppedBy(process.url);
    assert(dropped > 0, "no line is counted as dropped");
    await disk.free(process.pid);
    await call(process.url);
    assertEquals((await process.stop()).code, 0);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    const whole = lines.map(parsed).filter((line) => line !== null);
    // Where the disk was full, a line may be cut off, and an empty one begins what comes after.
    assert(whole.length >= lines.length - 2, "more than one line is broken");
    const told = whole.reduce((sum, line) => sum + (line.log_lines_dropped ?? 0), 0);
    const requests = whole.filter(({ route }) => route !== undefined).length;
    assert(requests + told >= 3 * CALLS, "lines are lost and not counted");
    return `${number(requests)} lines written, ${number(told)} dropped and told of`;
  });
}

function parsed(line: string): { log_lines_dropped?: number; route?: string } | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function startLogging(folder: string, path: string): Promise<Process> {
  const settings = settingsIn(folder, { RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY });
  return Process.startBy(["sh", "-c", `exec "$0" "$@" > '${path}'`], settings);
}

/** Sends calls; fails unless each is answered. */
async function call(url: string): Promise<void> {
  const headers = { Authorization: `Bearer ${KEY}` };
  let left = CALLS;
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    using client = Deno.createHttpClient({});
    while (left-- > 0) {
      const signal = AbortSignal.timeout(10_000);
      const answer = await fetch(`${url}/v1/usage`, { client, headers, signal });
      await answer.body?.cancel();
      assertEquals(answer.status, 200);
    }
  }));
}

async function droppedBy(url: string): Promise<number> {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };
  const answer = await fetch(`${url}/metrics`, { headers });
  return new Scrape(await answer.text()).value("runledger_log_lines_dropped_total") ?? -1;
}
