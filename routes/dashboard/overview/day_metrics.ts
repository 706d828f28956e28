/** Daily metrics of the overview: each day, a usual day, and how today compares. */
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import { daysOf } from "../../../domain/spend/spend_query.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";

/** Number of days before today to compare with. */
export const DAYS_BEFORE = 14;

/** Today and the days before, in UTC. */
export type Span = ReturnType<typeof spanAt>;

/** Totals of a day. */
export type DayMetrics = ReturnType<typeof metricsOf>[number];

/** A usual day: the mean of several days. */
export type UsualDay = NonNullable<ReturnType<typeof usualDayOf>>;

/** Today compared with a usual day; null if there is nothing to compare with. */
export type Compared = "more" | "less" | "usual" | null;

/** Returns the days around an instant, unix milliseconds. */
export function spanAt(nowMs: number) {
  const startMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const [from, today] = [dayOf(startMs - DAYS_BEFORE * DAY_MS), dayOf(startMs)];
  return {
    /** First day, `YYYY-MM-DD`. */
    from,
    yesterday: dayOf(startMs - DAY_MS),
    today,
    /** All days in order, today last. */
    days: daysOf({ from, to: today }),
    /** Start and end of today, unix milliseconds. */
    startMs,
    endMs: startMs + DAY_MS,
    /** Elapsed fraction of today, 0 to 1. */
    passed: (nowMs - startMs) / DAY_MS,
  };
}

/**
 * Aggregates rows by status into days: every run has exactly one status. `failed` includes the runs
 * that timed out.
 */
export function metricsOf(days: readonly string[], rows: readonly RollupRow[]) {
  const none = {
    runs: 0,
    failed: 0,
    timedOut: 0,
    running: 0,
    cost: 0n,
    unpricedCalls: 0,
    uncountedCalls: 0,
  };
  const byDay = new Map(days.map((day) => [day, { day, ...none }]));
  for (const { day, group, measures } of rows) {
    const sums = byDay.get(day);
    if (sums === undefined || group.kind !== "status") continue;
    sums.runs += measures.runs;
    sums.failed += measures.failed + measures.timedOut;
    sums.timedOut += measures.timedOut;
    sums.running += measures.running;
    sums.cost += measures.cost;
    sums.unpricedCalls += measures.unpricedCalls;
    sums.uncountedCalls += measures.uncountedCalls;
  }
  return [...byDay.values()];
}

/** Averages the days before today, from the first one with runs; null if none has runs. */
export function usualDayOf(before: readonly DayMetrics[]) {
  const first = before.findIndex(({ runs }) => runs > 0);
  if (first < 0) return null;
  const days = before.slice(first);
  const sum = (of: (day: DayMetrics) => number) => days.reduce((all, day) => all + of(day), 0);
  const runs = sum((day) => day.runs);
  const ended = runs - sum((day) => day.running);
  const cost = days.reduce((all, day) => all + day.cost, 0n);
  return {
    days: days.length,
    runs: runs / days.length,
    cost: cost / BigInt(days.length),
    /** Failed runs divided by runs that ended; 0 if none ended. */
    failedShare: ended === 0 ? 0 : sum((day) => day.failed) / ended,
  };
}

/**
 * Compares a total of today with a complete usual day. Load is seldom even over a day, so `more`
 * requires over 110% of the complete day's total. `less` requires that half the day has passed, and
 * a total below half of an even day's total at this time.
 */
export function compareSum(today: number, usual: number | undefined, passed: number): Compared {
  if (usual === undefined) return null;
  if (today > usual * 1.1) return "more";
  return passed >= 0.5 && today < usual * passed * 0.5 ? "less" : "usual";
}

/** Compares the failure rate at any time of day; a difference of less than one run is ignored. */
export function compareFailures(today: DayMetrics, usual: UsualDay | null): Compared {
  const ended = today.runs - today.running;
  if (usual === null || ended === 0) return null;
  const share = today.failed / ended;
  const excess = today.failed - usual.failedShare * ended;
  if (share > usual.failedShare * 1.5 && excess >= 1) return "more";
  return share < usual.failedShare * 0.5 && excess <= -1 ? "less" : "usual";
}
