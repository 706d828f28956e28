/** Computes the parts of the overview from what was read. */
import type { Incident } from "../../../domain/alerts/incident.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { Monitor } from "../../../domain/monitors/monitor.ts";
import type { RunLines } from "../../../domain/runs/lines.ts";
import { type RunListRow, UNUSUAL, type UsualRun } from "../../../domain/runs/list.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import { daysOf, labelOf } from "../../../domain/spend/spend_query.ts";
import { formatCount } from "../components/format.ts";
import { nameOf, reasonOf } from "../runs/runs_view.ts";

/** Numbers of days that charts can have, and their default. */
export const RANGES = [7, 14, 30] as const, RANGE_DEFAULT = 14;

/** Days before today that a usual day is the average of. */
export const USUAL_DAYS = 14;

/** The days of the page, in UTC. */
export type Span = ReturnType<typeof spanAt>;

/** Returns today, the days of the charts, and all days that are read. */
export function spanAt(nowMs: number, range: number) {
  const startMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const today = dayOf(startMs);
  const from = dayOf(startMs - (range - 1) * DAY_MS);
  const readFrom = dayOf(startMs - Math.max(range - 1, USUAL_DAYS) * DAY_MS);
  return {
    ...{ nowMs, range, today, startMs },
    /** First day of the charts, `YYYY-MM-DD`. */
    from,
    readFrom,
    yesterday: dayOf(startMs - DAY_MS),
    days: daysOf({ from: readFrom, to: today }),
    endMs: startMs + DAY_MS,
  };
}

/** Totals of a day. */
export type DayMetrics = ReturnType<typeof metricsOf>[number];

/**
 * Aggregates rows by status into days: every run has exactly one status. `failed` includes the runs
 * that timed out.
 */
export function metricsOf(days: readonly string[], rows: readonly RollupRow[]) {
  const none = {
    ...{ runs: 0, failed: 0, timedOut: 0, running: 0 },
    ...{ cost: 0n, unpricedCalls: 0, uncountedCalls: 0 },
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

/** A usual day: the mean of several days. */
export type UsualDay = NonNullable<ReturnType<typeof usualDayOf>>;

/** Averages the days before today, from the first one with runs; null if none has runs. */
export function usualDayOf(before: readonly DayMetrics[]) {
  const days = sinceFirstRun(before);
  if (days.length === 0) return null;
  const mean = (of: (day: DayMetrics) => number) =>
    days.reduce((all, day) => all + of(day), 0) / days.length;
  return {
    days: days.length,
    runs: mean(({ runs }) => runs),
    failed: mean(({ failed }) => failed),
    cost: mean(({ cost }) => Number(cost)),
  };
}

function sinceFirstRun(days: readonly DayMetrics[]): readonly DayMetrics[] {
  const first = days.findIndex(({ runs }) => runs > 0);
  return first < 0 ? [] : days.slice(first);
}

/** Maximum runs whose starts are read to compare today by the hour: 5,000 take about 30 ms. */
export const STARTS_MAX = 5_000;

/** Returns the latest days before today whose starts, with those of today, are few enough. */
export function daysToCompare(before: readonly DayMetrics[], today: number) {
  let left = STARTS_MAX - today;
  const days: DayMetrics[] = [];
  for (const day of sinceFirstRun(before).toReversed()) {
    left -= day.runs;
    if (left < 0) break;
    days.push(day);
  }
  return days;
}

/** A start of a run with what it adds to a sum. */
export interface SizedStart {
  readonly at: number;
  readonly size: number;
}

/** Hours of a line: the end of each hour. */
const HOURS = 24, HOUR_MS = DAY_MS / HOURS;

/** Sums of today so far, and of a usual day. */
export interface SoFar {
  /** Sum after each full hour of today. */
  readonly today: readonly number[];
  /** The same of a usual day, all 24 hours; empty without days to compare with. */
  readonly usual: readonly number[];
  /** Usual sum at this time of day; null without days to compare with. */
  readonly usualNow: number | null;
}

/** Adds up starts by hour, and averages those of the days to compare with. */
export function soFarOf(
  starts: readonly SizedStart[],
  days: readonly string[],
  { today, nowMs, startMs }: Pick<Span, "today" | "nowMs" | "startMs">,
): SoFar {
  const [ofToday, ofUsual] = [new Array<number>(HOURS).fill(0), new Array<number>(HOURS).fill(0)];
  const compared = new Set(days);
  let usualNow = 0;
  for (const { at, size } of starts) {
    const day = dayOf(at);
    const hours = day === today ? ofToday : compared.has(day) ? ofUsual : null;
    if (hours === null) continue;
    const hour = Math.floor((at % DAY_MS) / HOUR_MS);
    hours[hour] = (hours[hour] ?? 0) + size;
    if (hours === ofUsual && at % DAY_MS <= nowMs - startMs) usualNow += size;
  }
  return {
    today: runningSums(ofToday).slice(0, Math.floor((nowMs - startMs) / HOUR_MS)),
    usual: days.length === 0 ? [] : runningSums(ofUsual).map((sum) => sum / days.length),
    usualNow: days.length === 0 ? null : usualNow / days.length,
  };
}

function runningSums(sizes: readonly number[]): readonly number[] {
  let sum = 0;
  return sizes.map((size) => sum += size);
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

/** A sum of today beside the usual one at this time of day. */
export interface Compared {
  readonly sign: "▲" | "▼" | "";
  readonly text: string;
  /** True if it is at least half as much again, and by one. */
  readonly isFarAbove: boolean;
}

/** Usual count from which a difference is a percentage. */
const PERCENT_FROM = 10;

/** Compares a sum of today with the usual one; `isCount` is false for an amount. */
export function compare(today: number, usual: number, isCount = true): Compared {
  const more = today - usual;
  const isFarAbove = more > usual / 2 && (!isCount || more >= 1);
  const isPercent = usual > 0 && (!isCount || usual >= PERCENT_FROM);
  const size = Math.round(Math.abs(isPercent ? 100 * more / usual : isCount ? more : 0));
  if (!isPercent && !isCount && more > 0) {
    return { sign: "▲", text: "usually nothing by now", isFarAbove: true };
  }
  if (size === 0) return { sign: "", text: "as usual by now", isFarAbove: false };
  const [sign, above, than] = more > 0 ? ["▲", "above", "more"] as const : [
    "▼",
    "below",
    "fewer",
  ] as const;
  const text = isPercent
    ? `${formatCount(size)}% ${above} usual by now`
    : `${formatCount(size)} ${than} than usual by now`;
  return { sign, text, isFarAbove };
}

/** Runs that failed alike: of one agent, for one reason. */
export interface FailureGroup {
  /** The latest of them. */
  readonly run: RunListRow;
  readonly name: string;
  readonly reason: string | null;
  readonly count: number;
}

/**
 * Groups failures by agent and reason, latest first. A child run whose parent failed too is the
 * cause of that failure; runs of open incidents are left out.
 */
export function failureGroups(
  failures: readonly RunListRow[],
  incidents: readonly Pick<Incident, "runs">[],
  lines: ReadonlyMap<RunId, RunLines>,
): readonly FailureGroup[] {
  const known = new Set(incidents.flatMap(({ runs }) => runs));
  const ids = new Set(failures.map(({ id }) => id));
  const groups = new Map<string, FailureGroup>();
  for (const run of failures) {
    if (known.has(run.id) || (run.parent !== null && ids.has(run.parent))) continue;
    const cause = failures.find(({ parent }) => parent === run.id);
    if (cause !== undefined && known.has(cause.id)) continue;
    const ofCause = cause === undefined ? undefined : lines.get(cause.id);
    const reason = reasonOf(run, lines.get(run.id), cause, ofCause);
    const key = JSON.stringify([run.agent, run.status, reason]);
    const group = groups.get(key);
    const name = nameOf(run, lines.get(run.id));
    groups.set(key, group ? { ...group, count: group.count + 1 } : { run, name, reason, count: 1 });
  }
  return [...groups.values()];
}

/** A run that is open. */
export interface OpenRun {
  readonly run: RunListRow;
  readonly name: string;
  readonly openMs: number;
  /** Usual duration of its agent; null if unknown. */
  readonly usualMs: number | null;
  readonly isFarOver: boolean;
}

/** Returns open runs, those furthest beyond their agent's usual duration first. */
export function openRunsOf(
  rows: readonly RunListRow[],
  usual: ReadonlyMap<string, UsualRun | null>,
  lines: ReadonlyMap<RunId, RunLines>,
  nowMs: number,
): readonly OpenRun[] {
  const open = rows.map((run) => {
    const openMs = Math.max(0, nowMs - (run.startedAt ?? run.receivedAt));
    const usualMs = usual.get(run.agent ?? "")?.durationMs || null;
    const isFarOver = usualMs !== null && openMs >= UNUSUAL.slow &&
      openMs >= UNUSUAL.factor * usualMs;
    return { run, name: nameOf(run, lines.get(run.id)), openMs, usualMs, isFarOver };
  });
  const times = ({ openMs, usualMs }: OpenRun) => usualMs === null ? 0 : openMs / usualMs;
  return open.sort((a, b) => times(b) - times(a) || b.openMs - a.openMs);
}

/** Returns monitors of incidents that do not say so already, latest change first. */
export function silentMonitors(
  monitors: readonly Monitor[],
  incidents: readonly Pick<Incident, "kind" | "group">[],
): readonly Monitor[] {
  const missed = new Set(
    incidents.map(({ kind, group }) => kind === "missed" ? group.agent : null),
  );
  return monitors.filter(({ agent }) => !missed.has(agent)).sort((a, b) => b.since - a.since);
}

/** Spend of an agent; null for runs without an agent. */
export interface AgentSpend {
  readonly agent: string | null;
  readonly runs: number;
  readonly cost: Picodollars;
  /** Cost in the days before today; null if those have too many rows. */
  readonly before: Picodollars | null;
}

/** Ranks agents by their spend today; `before` is null if it has too many rows. */
export function rankAgents(
  today: readonly RollupRow[],
  before: readonly RollupRow[] | null,
): readonly AgentSpend[] {
  const byAgent = new Map<string | null, AgentSpend>();
  const add = (rows: readonly RollupRow[], change: (row: RollupRow, of: AgentSpend) => object) => {
    for (const row of rows) {
      const agent = labelOf(row.group, "agent");
      const none = { agent, runs: 0, cost: 0n, before: before === null ? null : 0n };
      const known = byAgent.get(agent) ?? none;
      byAgent.set(agent, { ...known, ...change(row, known) });
    }
  };
  add(today, ({ measures }) => ({ runs: measures.runs, cost: measures.cost }));
  add(before ?? [], ({ measures }, of) => ({ before: (of.before ?? 0n) + measures.cost }));
  const by = (x: bigint, y: bigint) => x > y ? -1 : x < y ? 1 : 0;
  return [...byAgent.values()].sort((a, b) =>
    by(a.cost, b.cost) || by(a.before ?? 0n, b.before ?? 0n) || b.runs - a.runs
  );
}
