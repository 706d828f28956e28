/** Reads the data of the overview in parallel, each part by a bounded range. */
import type { OpenIncidents } from "../../../domain/alerts/store.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import type { AppDeps } from "../../http/context.ts";
import { readFailures, STUCK_MS } from "../components/run_columns.tsx";
import { readMessageTrouble } from "../alerts/banner.tsx";
import { readOpenList } from "../alerts/open_list.tsx";
import { countRejected } from "../refusals/page.tsx";
import { readUsual } from "../runs/runs_load.ts";
import {
  completeDays,
  type DayMetrics,
  daysToCompare,
  metricsOf,
  soFarOf,
  type Span,
  STARTS_MAX,
  USUAL_DAYS,
  usualDayOf,
} from "./overview_view.ts";

/** Maximum runs or agents read of each kind. */
const READ_MAX = {
  /** Agents of each state; the latest changes are shown. */
  monitors: 50,
  failures: 25,
  /** Newest open runs, among which those far beyond their usual time are found. */
  running: 25,
  /** Open runs that are counted. */
  counted: 1_000,
  /** Newest runs of today among which the slowest are found: no index has durations. */
  recent: 50,
  /** Rows by agent of today, and of the days before: 500 take 3 ms. */
  agents: 499,
  agentsBefore: 1_499,
} as const;

/** Entries shown of each list. */
export const SHOWN = 5;

/** The data of the page. */
export type OverviewData = Awaited<ReturnType<typeof loadOverview>>;

export async function loadOverview(deps: AppDeps, team: Team, span: Span, open: OpenIncidents) {
  const { nowMs, readFrom, today } = span;
  const rows = await Array.fromAsync(deps.spend.rows(team, "status", readFrom, today));
  const days = metricsOf(span.days, rows.flat());
  const usual = usualDayOf(days.slice(-1 - USUAL_DAYS, -1));
  const [hours, attention, running, slowest, agents, dead, rejected, messages] = await Promise.all([
    readHours(deps, team, span, days),
    readAttention(deps, team, nowMs, open),
    readRunning(deps, team, nowMs),
    readSlowest(deps, team, span),
    readAgents(deps, team, span),
    deps.deadStages.ofTeam(team),
    countRejected(deps, team.id, nowMs),
    readMessageTrouble(deps, team, nowMs),
  ]);
  const shown = [...attention.failures, ...attention.stuck, ...running.rows, ...slowest.rows];
  const lines = await deps.lineage.lines(team, [...new Set(shown.map(({ id }) => id))]);
  return {
    ...{ span, days, usual, hours, attention, running, slowest, agents },
    ...{ dead, rejected, messages, lines },
  };
}

/** Reads the starts of today and of as many days before as are few enough. */
async function readHours(
  { runList }: AppDeps,
  team: Team,
  span: Span,
  days: readonly DayMetrics[],
) {
  const todayRuns = days.at(-1)?.runs ?? 0;
  const before = daysToCompare(days.slice(-1 - USUAL_DAYS, -1), todayRuns);
  const from = span.startMs - before.length * DAY_MS;
  // Runs may begin while these are read.
  const [runs, failures, costs] = await Promise.all(
    (["runs", "failures", "costs"] as const).map((of) =>
      todayRuns > STARTS_MAX ? null : runList.starts(team, of, from, span.endMs, 2 * STARTS_MAX)
    ),
  );
  const complete = runs ? completeDays(before, runs) : [];
  const ones = (starts: typeof runs) => (starts ?? []).map(({ at }) => ({ at, size: 1 }));
  const sizes = (costs ?? []).map(({ at, cost }) => ({ at, size: Number(cost) }));
  return {
    days: complete.length,
    runs: soFarOf(ones(runs), complete, span),
    failures: soFarOf(ones(failures), complete, span),
    cost: soFarOf(sizes, complete, span),
  };
}

async function readAttention(deps: AppDeps, team: Team, nowMs: number, open: OpenIncidents) {
  const { monitors, runList } = deps;
  const agents = (state: "down" | "late") =>
    monitors.list(team, { state, limit: READ_MAX.monitors, after: null });
  const stuckFor = { status: "running" as const, from: null, to: nowMs - STUCK_MS };
  const [incidents, down, late, stuck, failures] = await Promise.all([
    readOpenList(deps, team, open, SHOWN),
    agents("down"),
    agents("late"),
    runList.page(team, stuckFor, null, SHOWN + 1),
    readFailures(runList, team, { from: nowMs - DAY_MS, to: null }, READ_MAX.failures),
  ]);
  const named = new Set(incidents.flatMap(({ kind, runs }) => kind === "stuck" ? runs : []));
  return {
    incidents,
    monitors: [...down.monitors, ...late.monitors].map(({ monitor }) => monitor),
    stuck: stuck.rows.filter(({ id }) => !named.has(id)),
    failures,
  };
}

/** Reads the newest open runs, and counts all: a run is open in the status `running`. */
async function readRunning({ runList }: AppDeps, team: Team, nowMs: number) {
  const query = { status: "running" as const, from: null, to: null };
  const [{ rows }, starts] = await Promise.all([
    runList.page(team, query, null, READ_MAX.running),
    runList.starts(team, "running", 0, nowMs + DAY_MS, READ_MAX.counted),
  ]);
  const usual = await readUsual({ runList }, team, rows);
  return { rows, usual, count: starts === null ? null : Math.max(rows.length, starts.length) };
}

async function readSlowest({ runList }: AppDeps, team: Team, { startMs, endMs }: Span) {
  const today = { from: startMs, to: endMs };
  const { rows, next } = await runList.page(team, today, null, READ_MAX.recent);
  const slowest = rows.filter(({ durationMs }) => durationMs !== null)
    .sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0)).slice(0, SHOWN);
  return { rows: slowest, compared: rows.length, isAll: next === null };
}

/** Reads the spend of agents; `today` or `before` is null if it has too many rows. */
async function readAgents({ spend }: AppDeps, team: Team, { readFrom, yesterday, today }: Span) {
  const ofToday = await readAtMost(spend.rows(team, "agent", today, today), READ_MAX.agents);
  // With as many agents on each day before, the limit is exceeded: skip the read.
  const isLittle = (ofToday?.length ?? 0) * USUAL_DAYS <= READ_MAX.agentsBefore;
  const before = ofToday !== null && isLittle
    ? await readAtMost(spend.rows(team, "agent", readFrom, yesterday), READ_MAX.agentsBefore)
    : null;
  return { today: ofToday, before };
}

/** Reads the rows of a range; null if there are more than `max`. */
async function readAtMost(all: AsyncIterable<readonly RollupRow[]>, max: number) {
  const read: RollupRow[] = [];
  for await (const rows of all) {
    read.push(...rows);
    if (read.length > max) return null;
  }
  return read;
}
