/** The overview's comparison of today with the days before. */
import { assertEquals } from "@std/assert";
import { contributionsOf, type RollupRow } from "../../domain/spend/rollup.ts";
import {
  compareFailures,
  compareSum,
  type DayMetrics,
  metricsOf,
  spanAt,
  usualDayOf,
} from "../../routes/dashboard/overview/day_metrics.ts";
import { aContribution, DOLLAR, UNPRICED } from "../support/builders/spend.ts";

const DAY: DayMetrics = {
  day: "2026-11-21",
  runs: 0,
  failed: 0,
  timedOut: 0,
  running: 0,
  cost: 0n,
  unpricedCalls: 0,
  uncountedCalls: 0,
};

Deno.test("today is a UTC day, with the 14 days before it", () => {
  const noon = spanAt(Date.UTC(2026, 2, 3, 12));
  assertEquals([noon.from, noon.yesterday, noon.today], ["2026-02-17", "2026-03-02", "2026-03-03"]);
  assertEquals([noon.days.length, noon.passed], [15, 0.5]);
  assertEquals([noon.startMs, noon.endMs], [Date.UTC(2026, 2, 3), Date.UTC(2026, 2, 4)]);
  const last = spanAt(Date.UTC(2026, 2, 3) - 1);
  assertEquals([last.from, last.today], ["2026-02-16", "2026-03-02"]);
});

Deno.test("a day's metrics are totals over its statuses, and timeouts count as failed", () => {
  const ofStatus = (status: "success" | "failed" | "timeout" | "cancelled" | "running") =>
    aContribution({ labels: { status } });
  const runs = [
    ofStatus("success"),
    ofStatus("failed"),
    ofStatus("timeout"),
    ofStatus("cancelled"),
    ofStatus("running"),
    aContribution({ day: "2026-11-20", models: [UNPRICED] }),
    aContribution({ day: "2026-11-18" }),
  ];
  const rows: RollupRow[] = runs.flatMap(contributionsOf);
  assertEquals(metricsOf(["2026-11-19", "2026-11-20", "2026-11-21"], rows), [
    { ...DAY, day: "2026-11-19" },
    { ...DAY, day: "2026-11-20", runs: 1, unpricedCalls: 1 },
    { ...DAY, runs: 5, failed: 2, timedOut: 1, running: 1, cost: 5n * DOLLAR },
  ]);
});

Deno.test("a usual day is the mean of the days since the first with runs, including days without runs", () => {
  const days = [DAY, { ...DAY, runs: 8, failed: 1, cost: 3n }, DAY, {
    ...DAY,
    runs: 4,
    running: 2,
  }];
  assertEquals(usualDayOf(days), { days: 3, runs: 4, cost: 1n, failedShare: 0.1 });
  assertEquals(usualDayOf([DAY, DAY]), null);
  assertEquals(usualDayOf([]), null);
});

Deno.test("a total is more than usual above a full usual day, and less if it is low after half a day", () => {
  const cases = [
    [111, 100, 0.01, "more"],
    [110, 100, 0.99, "usual"],
    [1, 0, 0.5, "more"],
    [0, 0, 0.9, "usual"],
    [0, 100, 0.49, "usual"],
    [24, 100, 0.5, "less"],
    [25, 100, 0.5, "usual"],
    [49, 100, 0.99, "less"],
  ] as const;
  for (const [today, usual, passed, word] of cases) {
    assertEquals(compareSum(today, usual, passed), word, `${today} of ${usual} at ${passed}`);
  }
  assertEquals(compareSum(5, undefined, 0.5), null);
});

Deno.test("failures are compared by their share of ended runs, at any time of day", () => {
  const usual = { days: 14, runs: 100, cost: 0n, failedShare: 0.1 };
  const cases = [
    [{ runs: 10, failed: 1 }, "usual"],
    [{ runs: 10, failed: 2 }, "more"],
    // Two of ten: the 90 runs that have not ended do not count.
    [{ runs: 100, failed: 2, running: 90 }, "more"],
    [{ runs: 5, failed: 1 }, "usual"],
    [{ runs: 100, failed: 4 }, "less"],
    [{ runs: 10, failed: 0 }, "less"],
    [{ runs: 9, failed: 0 }, "usual"],
    [{ runs: 3, running: 3 }, null],
  ] as const;
  for (const [today, word] of cases) {
    assertEquals(compareFailures({ ...DAY, ...today }, usual), word, JSON.stringify(today));
  }
  const never = { ...usual, failedShare: 0 };
  assertEquals(compareFailures({ ...DAY, runs: 100, failed: 1 }, never), "more");
  assertEquals(compareFailures({ ...DAY, runs: 1, failed: 1 }, null), null);
});
