/**
 * Compares CPU microseconds a request between this tree and another checkout, alternating on one
 * machine, for differences too small to show in rates. The work after the answer counts.
 */
import { UsageError } from "../tools/command.ts";
import { number, table } from "../tools/table.ts";
import { CALLS, inTurn, measure, type Measured } from "./load.ts";
import { type Bar, type BenchOptions, print } from "./report.ts";
import { startCheckout } from "./sides.ts";
import { median, ratios } from "./stats.ts";

const CONNECTIONS = 32;

/** Compares both checkouts by call. It has no bar: the acceptable cost depends on the change. */
export async function bench(
  { folder, rounds = 12, seconds = 1, rest: [other] }: BenchOptions,
): Promise<Bar[]> {
  if (other === undefined) {
    throw new UsageError("Name the checkout to compare with: bench cpu CHECKOUT");
  }
  await using before = await startCheckout(`${folder}/before.kv`, other);
  await using after = await startCheckout(`${folder}/after.kv`);
  const rows: string[][] = [];
  for (const call of CALLS) {
    const load = { call, connections: CONNECTIONS, seconds };
    const measured = await inTurn(call, rounds, {
      before: () => measure(before, load),
      after: () => measure(after, load),
    });
    const usOf = (all: readonly Measured[]) => all.map(({ cpuUs }) => cpuUs ?? NaN);
    const [old, now] = [usOf(measured.before), usOf(measured.after)];
    const medians = [number(median(old), 1), number(median(now), 1)];
    rows.push([call, ...medians, number(median(ratios(now, old)), 3)]);
  }
  print(table(["call", "before, µs", "after, µs", "ratio"], rows));
  return [];
}
