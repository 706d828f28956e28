/** Measures a ledger of millions of runs: its size, its reads, and its opens against an empty file. */
import { number } from "../tools/table.ts";
import { checkpointedBytes, filledFile } from "./fill.ts";
import { CONNECTIONS, inTurn, type Load, measure, rateRatios } from "./load.ts";
import { measureReads } from "./pages.ts";
import { atLeast, type Bar, type BenchOptions, print } from "./report.ts";
import { startSide } from "./sides.ts";

const RUNS = 2_000_000;

/** Fills a ledger and measures it. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const { folder, runs = RUNS, rounds = 3, seconds = 3 } = options;
  const file = await filledFile(options, runs);
  const bytes = await checkpointedBytes(file);
  print(`${number(runs)} runs: ${number(bytes)} bytes, ${number(bytes / runs)} a run.`);
  await measureReads(file, options);
  const load: Load = { call: "open", connections: CONNECTIONS, seconds };
  let empties = 0;
  // Opens fill the file, so each measurement of `empty` has a new one.
  const measureOn = async (path: string) => {
    await using side = await startSide("workless", path);
    return await measure(side, load);
  };
  const { full, empty } = await inTurn("volume: open", rounds, {
    empty: () => measureOn(`${folder}/empty-${empties++}.kv`),
    full: () => measureOn(file),
  });
  return [atLeast(`open: ${number(runs)} stored runs ÷ empty`, 0.85, rateRatios(full, empty))];
}
