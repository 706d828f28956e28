/**
 * Throughput of the ingest calls on this machine, as ratios taken in one run. All sides are measured
 * in turn, so that a machine that is slow for a while is slow for all of them.
 *
 * Progress goes to stderr, two Markdown tables to stdout. Usage: see `arguments.ts`.
 */
import { parseArguments, type Part, type Plan } from "./arguments.ts";
import { measureCalls } from "./calls.ts";
import { endAll, isInstalled } from "./children.ts";
import { countFsyncs } from "./fsyncs.ts";
import { measureGrowth } from "./growth.ts";
import { describeMachine } from "./machine.ts";
import { measureMemory } from "./memory.ts";
import { measurePipeline } from "./pipeline.ts";
import { report, type Results } from "./results.ts";
import { print, say } from "./say.ts";
import { measureVariants } from "./variants.ts";
import { measureGrowing, measureWriter } from "./without_http.ts";

/** Exit codes: wrongly called or not installed, and ended by Ctrl-C. */
const EXIT = { usage: 2, interrupted: 130 } as const;

/** Measures all parts of a plan in a folder. */
async function measureAll(plan: Plan, folder: string): Promise<Results> {
  const { rounds, seconds, connections } = plan;
  const results: Results = {};
  const wants = (part: Part) => plan.parts.includes(part);
  if (wants("calls")) results.calls = await measureCalls(folder, connections, rounds, seconds);
  if (wants("fsyncs")) {
    const cells = connections.flatMap((n) =>
      plan.tracedCalls.map((call) => ({ call, connections: n }))
    );
    results.fsyncs = await countFsyncs(cells, folder);
  }
  if (wants("variants")) results.variants = await measureVariants(folder, rounds, seconds);
  if (wants("memory")) results.memory = await measureMemory(folder, plan.memorySeconds);
  if (wants("growing")) results.growing = await measureGrowing(folder, plan.growingBatches);
  if (wants("pipeline")) results.pipeline = await measurePipeline(folder, rounds, seconds);
  if (wants("writer")) results.writer = await measureWriter(folder, rounds, seconds);
  if (wants("growth")) {
    results.growth = await measureGrowth(folder, plan.storedRuns, rounds, seconds);
  }
  return results;
}

async function main(args: readonly string[]): Promise<void> {
  const plan = parseArguments(args);
  if (typeof plan === "string") {
    say(plan);
    Deno.exit(EXIT.usage);
  }
  if (!await isInstalled("wrk", "--version")) {
    say("wrk is not installed and makes the load: apt install wrk, or brew install wrk");
    Deno.exit(EXIT.usage);
  }
  const folder = await Deno.makeTempDir({ prefix: "runledger-bench-" });
  let cleaned: Promise<void> | null = null;
  // Once: ending a process under way also ends the measuring, which cleans up in its turn.
  const cleanUp = () => cleaned ??= endAll().then(() => Deno.remove(folder, { recursive: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => cleanUp().finally(() => Deno.exit(EXIT.interrupted)));
  }
  const startMs = performance.now();
  try {
    const machine = await describeMachine(folder);
    const results = await measureAll(plan, folder);
    const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
    print(
      `${machine}; rounds: ${plan.rounds}, ${plan.seconds} s each, ${minutes} minutes in all\n`,
    );
    print(report(results));
  } finally {
    await cleanUp();
  }
  Deno.exit();
}

await main(Deno.args);
