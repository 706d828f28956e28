import { addCounts } from "../../../../domain/core/sums.ts";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { NO_CALLS, type RepriceSum } from "../../../../domain/repricing/reprice.ts";
import {
  addToBreakdown,
  BREAKDOWN_AGENTS_MAX,
  BREAKDOWN_DAYS_MAX,
  EMPTY_BREAKDOWN,
  type RepriceBreakdown,
} from "../../../../domain/repricing/reprice_job.ts";

const DAY_MS = 86_400_000;
const dayOf = (n: number) => new Date(n * DAY_MS).toISOString().slice(0, 10);
const together = (shares: readonly { readonly sum: RepriceSum }[]) =>
  shares.reduce((all, { sum }) => addCounts(all, sum), NO_CALLS);

const sums: fc.Arbitrary<RepriceSum> = fc.record({
  calls: fc.integer({ min: 1, max: 9 }),
  before: fc.bigInt({ min: 0n, max: 2n ** 60n }),
  after: fc.bigInt({ min: 0n, max: 2n ** 60n }),
});

Deno.test("breakdown of a job: agents and days add up to the total, and are bounded", () => {
  const visit = fc.tuple(fc.option(fc.integer({ min: 0, max: 40 })), fc.nat(120), sums);
  fc.assert(fc.property(fc.array(visit, { maxLength: 200 }), (visits) => {
    let shares: RepriceBreakdown = EMPTY_BREAKDOWN;
    let complete = NO_CALLS;
    for (const [agent, day, sum] of visits.toSorted(([, a], [, b]) => a - b)) {
      shares = addToBreakdown(shares, agent === null ? null : `agent-${agent}`, dayOf(day), sum);
      complete = addCounts(complete, sum);
    }
    assertEquals(together(shares.agents), complete);
    assertEquals(together(shares.days), complete);
    assert(shares.agents.length <= BREAKDOWN_AGENTS_MAX + 1);
    assert(shares.days.length <= BREAKDOWN_DAYS_MAX);
  }));
});

Deno.test("breakdown of a job: the latest days are listed, earlier days are one entry", () => {
  const sum = { calls: 1, before: 0n, after: 2n };
  let shares = EMPTY_BREAKDOWN;
  for (let day = 0; day < BREAKDOWN_DAYS_MAX + 3; day++) {
    shares = addToBreakdown(shares, "a", dayOf(day), sum);
  }
  assertEquals(shares.days[0], {
    from: dayOf(0),
    to: dayOf(3),
    sum: { calls: 4, before: 0n, after: 8n },
  });
  assertEquals(shares.days[1], { from: dayOf(4), to: dayOf(4), sum });
  assertEquals(shares.agents, [{
    agent: "a",
    sum: { calls: 65, before: 0n, after: 130n },
  }]);
});

Deno.test("breakdown of a job: a run without selected calls is not counted", () => {
  assertEquals(addToBreakdown(EMPTY_BREAKDOWN, "a", dayOf(1), NO_CALLS), EMPTY_BREAKDOWN);
});
