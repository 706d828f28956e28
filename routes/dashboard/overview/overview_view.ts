/** Computes the parts of the overview from what was read. */
import type { Incident } from "../../../domain/alerts/incident.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import { DAY_MS, dayOf, HOUR_MS } from "../../../domain/core/time.ts";
import type { Monitor } from "../../../domain/monitors/monitor.ts";
import { EMPTY_MEASURES, type Measures } from "../../../domain/runs/summary.ts";
import type { RunLines } from "../../../domain/runs/list_filter.ts";
import { type RunListRow, UNUSUAL, type UsualRun } from "../../../domain/runs/list.ts";
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import { daysOf, labelOf } from "../../../domain/spend/spend_query.ts";
import { formatCount } from "../components/format.ts";
import { nameOr } from "../run/texts.ts";
import { failureOf } from "../runs/runs_view.ts";

/** Numbers of days that charts can have, and their default. */
export const RANGES = [7, 14, 30] as const, RANGE_DEFAULT = 14;

/** Days before today that a usual day is the average of. */
export const USUAL_DAYS = 14;

/** The days of the page, in UTC. */
export type Span = ReturnType<typeof spanAt>;

/** Returns today, the first days of the charts and of what is read, and all days that are read. */
export function spanAt(nowMs: number, range: number) {
  const startMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const daysAgo = (days: number) => dayOf(startMs - days * DAY_MS);
  const [today, yesterday, from] = [daysAgo(0), daysAgo(1), daysAgo(range - 1)];
  const readFrom = daysAgo(Math.max(range - 1, USUAL_DAYS));
  const days = daysOf({ from: readFrom, to: today });
  return { nowMs, range, today, yesterday, from, readFrom, days, startMs, endMs: startMs + DAY_MS };
}

function sumOf(rows: readonly RollupRow[] = []): Measures {
  return rows.reduce((sum, { measures }) => addCounts(sum, measures), EMPTY_MEASURES);
}

/** Totals of a day. */
export type DayMetrics = ReturnType<typeof metricsOf>[number];

/**
 * Aggregates rows by status into days: every run has exactly one status. `failed` includes the runs
 * that timed out.
 */
export function metricsOf(days: readonly string[], rows: readonly RollupRow[]) {
  const byDay = Map.groupBy(rows.filter(({ group }) => group.kind === "status"), (row) => row.day);
  return days.map((day) => {
    const sum = sumOf(byDay.get(day));
    return { ...sum, day, failed: sum.failed + sum.timedOut };
  });
}

/** Averages the days before today, from the first one with runs; null if none has runs. */
export function usualDayOf(before: readonly DayMetrics[]) {
  const days = sinceFirstRun(before);
  if (days.length === 0) return null;
  const mean = (of: "runs" | "failed" | "cost") =>
    days.reduce((sum, day) => sum + Number(day[of]), 0) / days.length;
  return { days: days.length, runs: mean("runs"), failed: mean("failed"), cost: mean("cost") };
}

function sinceFirstRun(days: readonly DayMetrics[]): readonly DayMetrics[] {
  const first = days.findIndex(({ runs }) => runs > 0);
  return first < 0 ? [] : days.slice(first);
}

/** Maximum runs whose starts are read to compare today by the hour: 5,000 take about 30 ms. */
export const STARTS_MAX = 5_000;

/** Returns the latest days before today, as many as have few enough starts together with today. */
export function daysToCompare(before: readonly DayMetrics[], today: number) {
  let left = STARTS_MAX - today;
  return sinceFirstRun(before).toReversed().filter(({ runs }) => (left -= runs) >= 0);
}

/** Sums of today so far, and of a usual day. */
export type SoFar = ReturnType<typeof soFarOf>;

/** Adds up the starts of today by hour, and averages the starts of the days to compare with. */
export function soFarOf<Start extends { readonly at: number }>(
  starts: readonly Start[],
  days: readonly string[],
  { nowMs, startMs }: Pick<Span, "nowMs" | "startMs">,
  sizeOf: (start: Start) => number = () => 1,
) {
  const today = starts.filter(({ at }) => at >= startMs);
  const before = starts.filter(({ at }) => days.includes(dayOf(at)));
  const sumBefore = (of: readonly Start[], ms: number) =>
    of.reduce((sum, start) => start.at % DAY_MS < ms ? sum + sizeOf(start) : sum, 0);
  const hours = Array.from({ length: 24 }, (_, i) => (i + 1) * HOUR_MS);
  const isKnown = days.length > 0;
  return {
    /** Sum after each full hour of today. */
    today: hours.filter((ms) => ms <= nowMs - startMs).map((ms) => sumBefore(today, ms)),
    /** The same of a usual day, all 24 hours; empty without days to compare with. */
    usual: isKnown ? hours.map((ms) => sumBefore(before, ms) / days.length) : [],
    /** Usual sum at this time of day; null without days to compare with. */
    usualNow: isKnown ? sumBefore(before, nowMs - startMs + 1) / days.length : null,
  };
}

/**
 * Returns the days whose index is complete. Retention removes runs and keeps sums, so a day may have
 * fewer starts than runs.
 */
export function completeDays(days: readonly DayMetrics[], starts: readonly { at: number }[]) {
  const counts = Map.groupBy(starts, ({ at }) => dayOf(at));
  return days.filter(({ day, runs }) => (counts.get(day)?.length ?? 0) === runs)
    .map(({ day }) => day);
}

/** Usual count from which a difference is a percentage. */
const PERCENT_FROM = 10;

/**
 * Compares a sum of today with the usual one; `isCount` is false for an amount. `isFarAbove` is true
 * if it is at least half as much again, and by one.
 */
export function compare(today: number, usual: number, isCount = true) {
  const more = today - usual;
  if (!isCount && usual <= 0 && more > 0) {
    return { sign: "▲", text: "usually nothing by now", isFarAbove: true };
  }
  const isPercent = usual > 0 && (!isCount || usual >= PERCENT_FROM);
  const size = Math.round(Math.abs(isPercent ? 100 * more / usual : more));
  if (size === 0) return { sign: "", text: "as usual by now", isFarAbove: false };
  const [sign, above, than] = more > 0 ? ["▲", "above", "more"] : ["▼", "below", "fewer"];
  const text = isPercent ? `% ${above} usual by now` : ` ${than} than usual by now`;
  const isFarAbove = more > usual / 2 && (!isCount || more >= 1);
  return { sign, text: formatCount(size) + text, isFarAbove };
}

/** Runs that failed for one reason, or without a reason and of one agent. */
export type FailureGroup = ReturnType<typeof failureGroups>[number];

/**
 * Groups failures by their reason, latest first. A child run whose parent failed too is the cause of
 * that failure; runs of open incidents are left out.
 */
export function failureGroups(
  failures: readonly RunListRow[],
  incidents: readonly Pick<Incident, "runs">[],
  lines: ReadonlyMap<RunId, RunLines>,
) {
  const known = new Set(incidents.flatMap(({ runs }) => runs));
  const ids = new Set(failures.map(({ id }) => id));
  const named = failures.flatMap((run) => {
    const cause = failures.find(({ parent }) => parent === run.id);
    const isNamed = known.has(run.id) || (cause !== undefined && known.has(cause.id));
    if (isNamed || (run.parent !== null && ids.has(run.parent))) return [];
    return {
      run,
      name: nameOr(run, lines.get(run.id)?.name),
      failure: failureOf(run, lines, failures),
    };
  });
  const keyOf = ({ run, failure }: typeof named[number]) =>
    JSON.stringify([run.status, failure, failure?.message === null && run.agent]);
  return [...Map.groupBy(named, keyOf).values()].flatMap((group) => {
    const [latest] = group;
    const agents = [...new Set(group.flatMap(({ run }) => run.agent ?? []))];
    return latest === undefined ? [] : { ...latest, agents, count: group.length };
  });
}

/** A run that is open; `usualMs` is the usual duration of its agent, null if unknown. */
export type OpenRun = ReturnType<typeof openRunsOf>[number];

/** Returns open runs, those furthest beyond their agent's usual duration first. */
export function openRunsOf(
  rows: readonly RunListRow[],
  usual: ReadonlyMap<string, UsualRun | null>,
  lines: ReadonlyMap<RunId, RunLines>,
  nowMs: number,
) {
  const open = rows.map((run) => {
    const openMs = Math.max(0, nowMs - (run.startedAt ?? run.receivedAt));
    const usualMs = usual.get(run.agent ?? "")?.durationMs || null;
    const times = usualMs === null ? 0 : openMs / usualMs;
    const isFarOver = openMs >= UNUSUAL.slow && times >= UNUSUAL.factor;
    return { run, name: nameOr(run, lines.get(run.id)?.name), openMs, usualMs, times, isFarOver };
  });
  return open.sort((a, b) => b.times - a.times || b.openMs - a.openMs);
}

/** Returns monitors whose agents no incident says to be missed, latest change first. */
export function silentMonitors(
  entries: readonly { readonly monitor: Monitor }[],
  incidents: readonly Pick<Incident, "kind" | "group">[],
): readonly Monitor[] {
  const missed = incidents.filter(({ kind }) => kind === "missed").map(({ group }) => group.agent);
  return entries.map(({ monitor }) => monitor).filter(({ agent }) => !missed.includes(agent))
    .sort((a, b) => b.since - a.since);
}

/** Spend of an agent; the agent is null for runs without one. */
export type AgentSpend = ReturnType<typeof rankAgents>[number];

/** Ranks agents by their spend today; `before` is null if it has too many rows. */
export function rankAgents(today: readonly RollupRow[], before: readonly RollupRow[] | null) {
  const byAgent = (rows: readonly RollupRow[]) =>
    Map.groupBy(rows, ({ group }) => labelOf(group, "agent"));
  const [ofToday, ofBefore] = [byAgent(today), byAgent(before ?? [])];
  const ranked = [...new Set([...ofToday.keys(), ...ofBefore.keys()])].map((agent) => {
    const { runs, cost } = sumOf(ofToday.get(agent));
    return { agent, runs, cost, before: before && sumOf(ofBefore.get(agent)).cost };
  });
  return ranked.sort((a, b) =>
    Number(b.cost - a.cost) || Number((b.before ?? 0n) - (a.before ?? 0n)) || b.runs - a.runs
  );
}
