/** `deno task demo`: sends a week of three agents' work to a running server. */
import { formatInstant } from "../../domain/core/time.ts";
import {
  type Client,
  CONNECTION_HELP,
  CONNECTION_OPTIONS,
  connectionOf,
  createClient,
  Tally,
} from "../client.ts";
import { createMonitors, createRules } from "./watchers.ts";
import { type DemoRun, demoRuns, STORIES } from "./runs.ts";
import { createProgress, type Io, processIo, runCommand, UsageError } from "../command.ts";

const HELP = [
  "deno task demo [--url URL] [--key KEY] [--seed N]",
  "Fills a running server with the runs of three agents on the last seven days and today, up to now.",
  "Sending them again is safe: it adds only what has happened since.",
  "A key with the scope admin also creates monitors and alert rules of these agents.",
  ...CONNECTION_HELP,
  "  --seed N     generates another week of work (default 1)",
];

/** Concurrent requests: fast enough, and within the burst of the smallest plan. */
const CONCURRENCY = 16;

/** Runs the command; returns its exit code. */
export function demo(args: readonly string[], io: Io, nowMs = Date.now()): Promise<number> {
  const options = { ...CONNECTION_OPTIONS, seed: { type: "string", default: "1" } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async ({ values }) => {
    const seed = seedOf(values.seed);
    using client = createClient(connectionOf(values));
    const runs = demoRuns(seed, nowMs, client.region);
    const startedAtMs = performance.now();
    // Before the runs, which the rules are about.
    const rules = await createRules(client);
    const { requests, accepted, duplicates, replays } = await deliver(client, runs, io);
    const monitored = await createMonitors(client);
    const seconds = (performance.now() - startedAtMs) / 1_000;
    const agents = [...new Set(runs.map(({ agent }) => agent))].sort();
    const [first = "", last] = [runs[0], runs.at(-1)].map((run) =>
      formatInstant(run?.startMs ?? 0)
    );
    const lines = [
      `Sent ${runs.length} runs of ${agents.join(", ")}, ` +
      `from ${first.slice(0, 10)} to ${last}, seed ${seed}`,
      `  requests    ${requests} in ${seconds.toFixed(1)} s`,
      `  events      ${accepted + duplicates}`,
      `  accepted    ${accepted}`,
      `  duplicates  ${duplicates}`,
      `  replays     ${replays}`,
      ...monitored.length === 0 ? [] : [`  monitors    ${monitored.join(", ")}`],
      ...rules.length === 0 ? [] : [`  rules       ${rules.join(", ")}`],
      ...exampleLines(client, runs),
    ];
    lines.forEach((line) => io.out(line));
    return 0;
  });
}

function seedOf(text: string): number {
  const seed = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(seed)) return seed;
  throw new UsageError(`--seed must be a whole number: got ${text}`);
}

/** Sends runs concurrently, and the requests of each run in order; counts the server's answers. */
async function deliver(client: Client, runs: readonly DemoRun[], io: Io) {
  const tally = new Tally();
  using progress = createProgress(io.screen, "runs", runs.length);
  // A generator ends when one of its readers throws, and then the others have nothing left to send.
  const queue = (function* () {
    yield* runs;
  })();
  const work = async () => {
    for (const run of queue) {
      for (const call of run.calls) await tally.send(client, call);
      progress.step();
    }
  };
  const workers = await Promise.allSettled(Array.from({ length: CONCURRENCY }, work));
  for (const worker of workers) if (worker.status === "rejected") throw worker.reason;
  return tally;
}

/** Shows the last run of each scenario. */
function exampleLines(client: Client, runs: readonly DemoRun[]): string[] {
  const examples = Object.entries(STORIES).flatMap(([story, text]) => {
    const run = runs.findLast((run) => run.story === story);
    if (run === undefined) return [];
    return [
      `  ${text}`,
      `    ${client.url}/dashboard/runs/${run.id}`,
      `    ${client.curl(`/v1/runs/${run.id}`)}`,
    ];
  });
  return [
    `Open ${client.url}/dashboard (sign in with the link of "deno task dev" or a key), or see`,
    ...examples,
  ];
}

if (import.meta.main) Deno.exit(await demo(Deno.args, processIo()));
