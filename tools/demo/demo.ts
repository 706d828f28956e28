/** `deno task demo`: replays three agents' work, of a week up to now, into a running server. */
import { formatInstant } from "../../domain/core/time.ts";
import {
  type Client,
  CONNECTION_HELP,
  CONNECTION_OPTIONS,
  connectionOf,
  createClient,
} from "../client.ts";
import type { DemoCall, DemoRun, DemoScenario } from "./run.ts";
import { demoRuns } from "./runs.ts";
import { createProgress, type Io, processIo, runCommand, UsageError } from "../command.ts";

const HELP = [
  "deno task demo [--url URL] [--key KEY] [--seed N]",
  "Fills a running server with the runs of three agents on the last seven days and today, up to now.",
  "Sending them again counts nothing twice: it adds what has happened since, and ends what ran.",
  ...CONNECTION_HELP,
  "  --seed N     another week of work (default 1)",
];

/** Requests under way at once: enough to be quick, few enough for the smallest plan's burst. */
const CONCURRENCY = 16;

/** Counts of the server's answers. */
export interface Tally {
  /** Requests answered. */
  requests: number;
  /** Events it stored. */
  accepted: number;
  /** Events it had already. */
  duplicates: number;
  /** Openings, finishes and heartbeats it had already. */
  replays: number;
}

/** Runs the command; returns its exit code. */
export function demo(args: readonly string[], io: Io, nowMs = Date.now()): Promise<number> {
  const options = { ...CONNECTION_OPTIONS, seed: { type: "string", default: "1" } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async ({ values }) => {
    const seed = seedOf(values.seed);
    using client = createClient(connectionOf(values));
    const runs = demoRuns(seed, nowMs, client.region);
    const begun = performance.now();
    const tally = await deliver(client, runs, io);
    const seconds = (performance.now() - begun) / 1_000;
    const lines = [...summary(runs, tally, { seed, seconds }), ...lookAt(client, runs)];
    lines.forEach((line) => io.out(line));
    return 0;
  });
}

function seedOf(text: string): number {
  const seed = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(seed)) return seed;
  throw new UsageError(`--seed must be a whole number: got ${text}`);
}

/** Sends the runs side by side, the requests of each run in their order. */
async function deliver(client: Client, runs: readonly DemoRun[], io: Io): Promise<Tally> {
  const tally: Tally = { requests: 0, accepted: 0, duplicates: 0, replays: 0 };
  const failures: unknown[] = [];
  const queue = runs.values();
  using progress = createProgress(io.screen, "runs", runs.length);
  async function work(): Promise<void> {
    for (const run of queue) {
      for (const call of run.calls) {
        if (failures.length > 0) return;
        await send(client, call, tally);
      }
      progress.step();
    }
  }
  // A failure stops the others after the request they are at; the first one is told.
  const workers = Array.from(
    { length: CONCURRENCY },
    () => work().catch((error) => failures.push(error)),
  );
  await Promise.all(workers);
  if (failures.length > 0) throw failures[0];
  return tally;
}

async function send(client: Client, { path, body }: DemoCall, tally: Tally): Promise<void> {
  const answer = await client.post(path, body);
  tally.requests++;
  tally.accepted += Number(answer.body.accepted ?? 0);
  tally.duplicates += Number(answer.body.duplicates ?? 0);
  if (answer.replayed) tally.replays++;
}

function summary(
  runs: readonly DemoRun[],
  tally: Tally,
  { seed, seconds }: { seed: number; seconds: number },
): string[] {
  const agents = [...new Set(runs.map(({ agent }) => agent))].sort();
  const [first, last] = [runs[0], runs.at(-1)].map((run) => formatInstant(run?.startMs ?? 0));
  return [
    `Sent ${runs.length} runs of ${agents.join(", ")}, from ${
      first?.slice(0, 10)
    } to ${last}, seed ${seed}`,
    `  requests    ${tally.requests} in ${seconds.toFixed(1)} s`,
    `  events      ${tally.accepted + tally.duplicates}`,
    `  accepted    ${tally.accepted}`,
    `  duplicates  ${tally.duplicates}`,
    `  replays     ${tally.replays}`,
  ];
}

/** Runs worth a look; the numbers above cannot show what each of them is about. */
const SHOWN: readonly (readonly [DemoScenario, string])[] = [
  ["with children", "a long one, with two child runs"],
  ["running", "under way"],
  ["failed", "failed today"],
  ["out of order", "its finish came first, then late events, then its opening"],
  ["delivered twice", "every request came twice and counts once"],
  ["unknown model", "a model without a price: see cost.unpriced_models"],
  ["started, then closed", "a heartbeat that starts and one that closes"],
  ["never came back", "started and never heard of again"],
];

function lookAt(client: Client, runs: readonly DemoRun[]): string[] {
  const shown = SHOWN.flatMap(([story, text]) => {
    const run = runs.findLast((run) => run.story === story);
    return run === undefined ? [] : [[text, run] as const];
  });
  return [
    `Look at ${client.url}/dashboard (the link of "deno task dev" signs in, or a key), or at`,
    ...shown.flatMap(([text, { id }]) => [
      `  ${text}`,
      `    ${client.url}/dashboard/runs/${id}`,
      `    ${client.curl(`/v1/runs/${id}`)}`,
    ]),
  ];
}

if (import.meta.main) Deno.exit(await demo(Deno.args, processIo()));
