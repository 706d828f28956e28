/** The overview's numbers, computed from what was read. */
import { assertEquals } from "@std/assert";
import type { RunId } from "../../domain/core/ids.ts";
import { EMPTY_MEASURES } from "../../domain/runs/summary.ts";
import type { RunLines } from "../../domain/runs/list_filter.ts";
import type { RunListRow } from "../../domain/runs/list.ts";
import { ticksOf } from "../../routes/dashboard/components/column_chart.tsx";
import {
  compare,
  completeDays,
  type DayMetrics,
  daysToCompare,
  failureGroups,
  soFarOf,
  spanAt,
  STARTS_MAX,
  usualDayOf,
} from "../../routes/dashboard/overview/overview_view.ts";
import { aRow } from "../support/builders/exports.ts";

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 10, 21, 12);

const DAY: DayMetrics = { ...EMPTY_MEASURES, day: "2026-11-21" };

Deno.test("charts have the days of the range, and at least a usual day's days are read", () => {
  const two = spanAt(Date.UTC(2026, 2, 3, 12), 14);
  assertEquals([two.from, two.readFrom, two.today], ["2026-02-18", "2026-02-17", "2026-03-03"]);
  assertEquals([two.days.length, two.yesterday], [15, "2026-03-02"]);
  const week = spanAt(Date.UTC(2026, 2, 3) - 1, 7);
  assertEquals([week.from, week.readFrom, week.today], ["2026-02-24", "2026-02-16", "2026-03-02"]);
  assertEquals(spanAt(NOON, 30).readFrom, "2026-10-23");
});

Deno.test("a usual day is the mean of the days since the first with runs, including days without runs", () => {
  const days = [DAY, { ...DAY, runs: 8, failed: 3, cost: 6n }, DAY, { ...DAY, runs: 4 }];
  assertEquals(usualDayOf(days), { days: 3, runs: 4, failed: 1, cost: 2 });
  assertEquals(usualDayOf([DAY, DAY]), null);
  assertEquals(usualDayOf([]), null);
});

Deno.test("days are compared by the hour from yesterday back, while their runs are few enough", () => {
  const day = (name: string, runs: number) => ({ ...DAY, day: name, runs });
  const days = [day("none", 0), day("first", 1), day("large", STARTS_MAX - 9), day("small", 8)];
  const named = (today: number) => daysToCompare(days, today).map(({ day }) => day);
  assertEquals(named(0), ["small", "large", "first"]);
  assertEquals(named(1), ["small", "large"]);
  assertEquals(named(2), ["small"]);
  assertEquals(named(STARTS_MAX), []);
});

Deno.test("a day counts only if the index has all of its runs", () => {
  const days = [{ ...DAY, day: "2026-11-19", runs: 2 }, { ...DAY, day: "2026-11-20", runs: 1 }];
  const starts = [{ at: NOON - 48 * HOUR_MS }, { at: NOON - 24 * HOUR_MS }];
  assertEquals(completeDays(days, starts), ["2026-11-20"]);
});

Deno.test("today so far is compared with the other days at the same time of day", () => {
  const span = spanAt(NOON + HOUR_MS / 2, 7);
  const at = (day: number, hour: number, size = 1) => ({
    at: Date.UTC(2026, 10, day) + hour * HOUR_MS,
    size,
  });
  const starts = [at(21, 0.5), at(21, 11.5, 4), at(20, 1), at(20, 12.4), at(20, 12.6), at(19, 23)];
  const days = ["2026-11-20", "2026-11-19"];
  const sums = soFarOf([...starts, at(18, 3)], days, span, ({ size }) => size);
  assertEquals(sums.today.length, 12);
  assertEquals([sums.today[0], sums.today[10], sums.today[11]], [1, 1, 5]);
  assertEquals(sums.usualNow, 1);
  assertEquals([sums.usual[0], sums.usual[1], sums.usual[12], sums.usual[23]], [0, 0.5, 1.5, 2]);
  assertEquals(soFarOf(starts, [], span).usualNow, null);
});

Deno.test("a difference is a percentage of large counts and of amounts, and a count of small ones", () => {
  const cases = [
    [412, 389, "▲ 6% above usual by now", false],
    [100, 200, "▼ 50% below usual by now", false],
    [160, 100, "▲ 60% above usual by now", true],
    [9, 2, "▲ 7 more than usual by now", true],
    [1, 2.6, "▼ 2 fewer than usual by now", false],
    [1, 0.4, "▲ 1 more than usual by now", false],
    [2, 2.2, " as usual by now", false],
    [0, 0, " as usual by now", false],
  ] as const;
  for (const [today, usual, words, isFar] of cases) {
    const { sign, text, isFarAbove } = compare(today, usual);
    assertEquals([`${sign} ${text}`, isFarAbove], [words, isFar], `${today} of ${usual}`);
  }
  assertEquals(compare(3, 2, false).text, "50% above usual by now");
  assertEquals(compare(3, 0, false).text, "usually nothing by now");
  assertEquals(compare(0, 0, false).text, "as usual by now");
});

const NO_LINES: RunLines = {
  ...{ name: null, error: null, idleTimeoutSeconds: null },
  ...{ metadata: [], scores: [] },
};

function failed(n: number, fields: Partial<RunListRow> = {}): RunListRow {
  return { ...aRow(n), status: "failed", agent: "crew", ...fields };
}

Deno.test("failures for one reason are one entry, a child's is its parent's cause, and incidents say theirs", () => {
  const child = failed(2, { agent: "billing", parent: aRow(1).id, failedTool: "get_transfer" });
  const other = { agent: "other" };
  const rows = [failed(1), child, ...[3, 4, 5].map((n) => failed(n)), failed(6, other)];
  const expired = { ...NO_LINES, error: "token expired" };
  const lines = new Map<RunId, RunLines>([
    [aRow(2).id, { ...NO_LINES, error: "502" }],
    [aRow(3).id, { ...expired, name: "A refund" }],
    [aRow(4).id, expired],
    [aRow(7).id, expired],
  ]);
  // A tool that failed is not why a run is silent.
  const silent = failed(9, { closedBy: "idle", failedTool: "fetch_page" });
  const all = [...rows, failed(7, other), failed(8), silent];
  const groups = failureGroups(all, [{ runs: [aRow(5).id] }], lines);
  assertEquals(
    groups.map(({ run: { id }, failure, agents, count }) => [id, failure, agents, count]),
    [
      [aRow(1).id, { message: "502", path: "billing › get_transfer" }, ["crew"], 1],
      [aRow(3).id, { message: "token expired", path: "" }, ["crew", "other"], 3],
      [aRow(6).id, { message: null, path: "" }, ["other"], 1],
      [aRow(8).id, { message: null, path: "" }, ["crew"], 1],
      [aRow(9).id, { message: "Closed without an event", path: "" }, ["crew"], 1],
    ],
  );
  assertEquals(groups[1]?.name, "A refund");
});

Deno.test("ticks of a chart are round, begin at 0 and cover the greatest", () => {
  const cases: readonly (readonly [number, readonly number[]])[] = [
    [0, [0, 1]],
    [1, [0, 1]],
    [4, [0, 1, 2, 3, 4]],
    [22, [0, 10, 20, 30]],
    [760, [0, 200, 400, 600, 800]],
    [1_000, [0, 500, 1_000]],
  ];
  for (const [greatest, ticks] of cases) assertEquals(ticksOf(greatest), ticks, `${greatest}`);
});
