/** `deno task demo`: sends a week of three agents' work to a running server. */
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
  "Sending them again is safe: it adds only what has happened since.",
  ...CONNECTION_HELP,
  "  --seed N     generates another week of work (default 1)",
];

/** Concurrent requests: fast enough, and within the burst of the smallest plan. */
const CONCURRENCY = 16;

/** Counts of the server's responses. */
export interface Tally {
  requests: number;
  /** Events stored. */
  accepted: number;
  /** Events already stored. */
  duplicates: number;
  /** Openings, finishes and heartbeats already stored. */
  replays: number;
}

/** Runs the command; returns its exit code. */
export function demo(args: readonly string[], io: Io, nowMs = Date.now()): Promise<number> {
  const options = { ...CONNECTION_OPTIONS, seed: { type: "string", default: "1" } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async ({ values }) => {
    const seed = seedOf(values.seed);
    using client = createClient(connectionOf(values));
    const runs = demoRuns(seed, nowMs, client.region);
    const startedAtMs = performance.now();
    const tally = await deliver(client, runs, io);
    const seconds = (performance.now() - startedAtMs) / 1_000;
    const lines = [...summary(runs, tally, { seed, seconds }), ...exampleLines(client, runs)];
    lines.forEach((line) => io.out(line));
    return 0;
  });
}

function seedOf(text: string): number {
  const seed = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(seed)) return seed;
  throw new UsageError(`--seed must be a whole number: got ${text}`);
}

/** Sends runs concurrently, and the requests of each run in order. */
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
  // After a failure, the other workers stop after their current request; the first failure is
  // thrown.
  const workers = Array.from(
    { length: CONCURRENCY },
    () => work().catch((error) => failures.push(error)),
  );
  await Promise.all(workers);
  if (failures.length > 0) throw failures[0];
  return tally;
}

async function send(client: Client, { path, body }: DemoCall, tally: Tally): Promise<void> {
  const response = await client.post(path, body);
  tally.requests++;
  tally.accepted += Number(response.body.accepted ?? 0);
  tally.duplicates += Number(response.body.duplicates ?? 0);
  if (response.replayed) tally.replays++;
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

/** Runs to show as examples. */
const EXAMPLES: readonly (readonly [DemoScenario, string])[] = [
  ["with children", "long, with two child runs"],
  ["running", "in progress"],
  ["failed", "failed today"],
  ["out of order", "its finish arrived first, then late events, then its opening"],
  ["delivered twice", "every request arrived twice and counts once"],
  ["unknown model", "a model without a price: see cost.unpriced_models"],
  ["started, then closed", "one heartbeat starts it, another closes it"],
  ["never came back", "started and never reported again"],
];

function exampleLines(client: Client, runs: readonly DemoRun[]): string[] {
  const examples = EXAMPLES.flatMap(([story, text]) => {
    const run = runs.findLast((run) => run.story === story);
    return run === undefined ? [] : [[text, run] as const];
  });
  return [
    `Open ${client.url}/dashboard (sign in with the link of "deno task dev" or a key), or see`,
    ...examples.flatMap(([text, { id }]) => [
      `  ${text}`,
      `    ${client.url}/dashboard/runs/${id}`,
      `    ${client.curl(`/v1/runs/${id}`)}`,
    ]),
  ];
}

if (import.meta.main) Deno.exit(await demo(Deno.args, processIo()));
