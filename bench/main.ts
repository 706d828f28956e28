/** `deno task bench`: measures the service and compares it with the bars of docs/PERFORMANCE.md. */
import { processIo, runTool, UsageError } from "../tools/command.ts";
import { type Bench, type BenchName, parseBench } from "./options.ts";
import { describeMachine, endAll, isInstalled } from "./process.ts";
import { barTable, print } from "./report.ts";

/** Imports one benchmark, so that it does not load the others. */
const LOADED: Readonly<Record<BenchName, () => Promise<{ readonly bench: Bench }>>> = {
  ingest: () => import("./ingest.ts"),
  cpu: () => import("./cpu.ts"),
  runs: () => import("./runs.ts"),
  pages: () => import("./pages.ts"),
  live: () => import("./live.ts"),
  exports: () => import("./exports.ts"),
  sweep: () => import("./sweep.ts"),
};

/** Exit code of a process that SIGINT ended. */
const INTERRUPTED = 130;

async function main(args: readonly string[]): Promise<number> {
  const io = processIo();
  return await runTool(io, async () => {
    const parsed = parseBench(args, io);
    if (parsed === null) return 0;
    if (!await isInstalled("wrk", "--version")) {
      throw new UsageError("wrk is not installed: apt install wrk, or brew install wrk");
    }
    const folder = await Deno.makeTempDir({ prefix: "runledger-bench-" });
    let cleaned: Promise<void> | null = null;
    // Runs once: ending a child process also ends the measurement, which then cleans up.
    const cleanUp = () => cleaned ??= endAll().then(() => Deno.remove(folder, { recursive: true }));
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.addSignalListener(signal, () => cleanUp().finally(() => Deno.exit(INTERRUPTED)));
    }
    try {
      print(`${await describeMachine(folder)}\n`);
      const { bench } = await LOADED[parsed.name]();
      const bars = await bench({ ...parsed.options, folder });
      if (bars.length > 0) print(`\n${barTable(bars)}`);
      return bars.some(({ met }) => met === false) ? 1 : 0;
    } finally {
      await cleanUp();
    }
  });
}

Deno.exit(await main(Deno.args));
