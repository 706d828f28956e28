/**
 * Compares CPU microseconds a request between this tree and another checkout, alternating on one
 * machine, for differences too small to show in rates. The work after the answer counts.
 */
import { UsageError } from "../tools/command.ts";
import { number, table } from "../tools/table.ts";
import { CALLS, inTurn, measure, type Measured, warmUp } from "./load.ts";
import { startService } from "./process.ts";
import { type Bar, type BenchOptions, mean95, median, print, ratios, say } from "./report.ts";

const CONNECTIONS = 32;

/**
 * Rounds of one pair of processes. A process keeps much of its speed for as long as it runs: two
 * measurements with a pair each differed by 0.15.
 */
const ROUNDS_PER_PAIR = 5;

/**
 * Load before a pair is measured. For half a minute V8 compiles the code that is hot: a heartbeat
 * takes a fifth less afterwards, and a process runs for days.
 */
const WARM_UP_SECONDS = 40;

/** Compares both checkouts by call. It has no bar: the acceptable cost depends on the change. */
export async function bench(
  { folder, rounds = 20, seconds = 1, only, quick, checkout }: BenchOptions,
): Promise<Bar[]> {
  if (checkout === undefined) {
    throw new UsageError("Name the checkout to compare with: bench cpu CHECKOUT");
  }
  const cpuUs = ({ cpuUs }: Measured) => cpuUs;
  const rows: string[][] = [];
  for (const call of CALLS.filter((name) => only.length === 0 || only.includes(name))) {
    const load = { call, connections: CONNECTIONS, seconds };
    const before: Measured[] = [];
    const after: Measured[] = [];
    for (let pair = 0; before.length < rounds; pair++) {
      await using old = await startService(`${folder}/before-${call}-${pair}.kv`, checkout);
      await using current = await startService(`${folder}/after-${call}-${pair}.kv`);
      const title = `${call}, pair ${pair + 1}`;
      if (!quick) {
        say(`${title}: warm-up …`);
        for (const side of [old, current]) await warmUp([side], load, WARM_UP_SECONDS);
      }
      const measured = await inTurn(title, Math.min(ROUNDS_PER_PAIR, rounds - before.length), {
        before: () => measure([old], load),
        after: () => measure([current], load),
      });
      before.push(...measured.before);
      after.push(...measured.after);
    }
    const medians = [before, after].map((all) => number(median(all.map(cpuUs)), 1));
    const interval = mean95(ratios(after, before, cpuUs)).map((value) => number(value, 3));
    rows.push([call, ...medians, ...interval]);
  }
  print(table(["call", "before, µs", "after, µs", "mean ratio", "95 % from", "to"], rows));
  return [];
}
