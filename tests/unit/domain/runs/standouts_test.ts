/** The slowest event and the most expensive call of a run, batch by batch and after a repricing. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  costliestAfter,
  type CostliestCall,
  costliestOf,
  type SlowestEvent,
  slowestOf,
} from "../../../../domain/runs/standouts.ts";

/** Durations, or costs, of the events of batches. */
const batches = fc.array(fc.array(fc.nat(9), { maxLength: 4 }), { maxLength: 6 });

const eventsOf = (values: readonly number[]) =>
  values.map((latencyMs, ts) => ({ ts, facts: { error: false, latencyMs } }));

function costliest(all: readonly (readonly number[])[], from = 0, to = all.length) {
  let best: CostliestCall | undefined;
  for (let i = from; i < to; i++) {
    const costs = all[i] ?? [];
    best = costliestOf(best, eventsOf(costs), { costs }, i);
  }
  return best;
}

Deno.test("the slowest event and the most expensive call are the first of the largest", () => {
  fc.assert(fc.property(batches, (all) => {
    const largest = Math.max(0, ...all.flat());
    const batch = all.findIndex((values) => values.includes(largest));
    const index = all[batch]?.indexOf(largest) ?? 0;
    const place = { ts: index, batch, index };
    const isNone = largest === 0;
    const slowest = all.reduce<SlowestEvent | undefined>(
      (best, values, i) => slowestOf(best, eventsOf(values), i),
      undefined,
    );
    assertEquals(slowest, isNone ? undefined : { ...place, durationMs: largest });
    assertEquals(costliest(all), isNone ? undefined : { ...place, cost: BigInt(largest) });
  }));
});

Deno.test("costs beyond 2^53 are compared exactly", () => {
  const costs = [2 ** 53, 2n ** 53n + 1n];
  assertEquals(costliestOf(undefined, eventsOf([0, 0]), { costs }, 0)?.cost, 2n ** 53n + 1n);
});

Deno.test("a repricing finds the most expensive call, or reports that it is unknown", () => {
  const places = fc.tuple(batches, batches, fc.nat(6), fc.nat(6));
  fc.assert(fc.property(places, ([before, fresh, a, b]) => {
    const of = before.length;
    const [from, to] = [Math.min(a, b, of), Math.min(Math.max(a, b), of)];
    const after = before.map((costs, i) =>
      i < from || i >= to ? costs : costs.map((cost, n) => fresh[i]?.[n] ?? cost)
    );
    const range = { from, to, of, costliest: costliest(after, from, to) };
    const found = costliestAfter(costliest(before), range);
    if (found !== null) assertEquals(found?.cost ?? 0n, costliest(after)?.cost ?? 0n);
    else assertEquals(costliest(before)!.cost > (range.costliest?.cost ?? 0n), true);
  }));
});

Deno.test("an unknown most expensive call stays unknown until all calls are read", () => {
  const one = costliest([[3]]);
  assertEquals(costliestAfter(null, { from: 0, to: 1, of: 2, costliest: one }), null);
  assertEquals(costliestAfter(null, { from: 0, to: 1, of: 1, costliest: one }), one);
});
