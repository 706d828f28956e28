/** Reads the data of the overview in parallel, each part by a bounded range. */
import type { OpenIncidents } from "../../../domain/alerts/incident.ts";
import { CHANNELS } from "../../../domain/channels/channel_body.ts";
import { CHECKS } from "../../../domain/checks/check.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import type { Reader } from "../layout/page.tsx";
import { formatCount } from "../components/format.ts";
import { FAILURES, STUCK_MS } from "../components/run_state.tsx";
import { listDeliveries, readOpenList } from "../alerts/alerts_load.ts";
import { readAll } from "../objects/known_values.tsx";
import { countRejected } from "../refusals/page.tsx";
import { firstRows, readUsual, RUNNING_MAX } from "../runs/runs_load.ts";
import * as view from "./overview_view.ts";

/** Maximum entries read of each kind. */
const READ_MAX = {
  /** Agents of each state; the latest changes are shown. */
  monitors: 50,
  failures: 25,
  /** Newest open runs, among which those far beyond their usual time are found. */
  running: 25,
  /** Newest runs of today among which the slowest are found: no index has durations. */
  recent: 50,
  /** Rows by agent of today, and of the days before: 500 take 3 ms. */
  agents: 499,
  agentsBefore: 1_499,
  /** Undelivered messages that are counted. */
  undelivered: 10,
} as const;

/** Entries shown of each list. */
export const SHOWN = 5;

/** The data of the page. */
export type OverviewData = Awaited<ReturnType<typeof loadOverview>>;

export async function loadOverview(reader: Reader, span: view.Span, open: OpenIncidents) {
  const { deps, team } = reader;
  const { nowMs, readFrom, today } = span;
  const { spend, runList } = deps;
  const rows = await Array.fromAsync(spend.rows(team, "status", readFrom, today));
  const days = view.metricsOf(span.days, rows.flat());
  const failed = { status: FAILURES, from: nowMs - DAY_MS, to: null };
  const stuckFor = { status: "running" as const, from: null, to: nowMs - STUCK_MS };
  const monitorsIn = (state: "down" | "late") =>
    deps.monitors.list(team, { state, limit: READ_MAX.monitors, after: null });
  const [hours, incidents, monitors, stuck, failures, running, slowest, agents, checks, problems] =
    await Promise.all([
      readHours(reader, span, days),
      readOpenList(reader, open),
      Promise.all([monitorsIn("down"), monitorsIn("late")]),
      runList.page(team, stuckFor, null, SHOWN + 1),
      runList.page(team, failed, null, READ_MAX.failures),
      readRunning(reader, nowMs),
      readSlowest(reader, span),
      readAgents(reader, span),
      readChecks(reader, today),
      readProblems(reader, nowMs),
    ]);
  const named = [...failures.rows, ...stuck.rows, ...running.rows, ...slowest.rows];
  const lines = await deps.lineage.lines(team, [...new Set(named.map(({ id }) => id))]);
  const ofIncidents = incidents.flatMap(({ kind, runs }) => kind === "stuck" ? runs : []);
  return {
    ...{ span, days, hours, incidents, slowest, agents, checks, lines, problems },
    usual: view.usualDayOf(days.slice(-1 - view.USUAL_DAYS, -1)),
    monitors: view.silentMonitors(monitors.flatMap((page) => page.monitors), incidents),
    stuck: stuck.rows.filter(({ id }) => !ofIncidents.includes(id)),
    failures: view.failureGroups(failures.rows, incidents, lines),
    /** Number of open runs. */
    running: running.count,
    openRuns: view.openRunsOf(running.rows, running.usual, lines, nowMs),
  };
}

/** Reads the starts of today and of as many days before as are few enough. */
async function readHours({ deps, team }: Reader, span: view.Span, all: readonly view.DayMetrics[]) {
  const todayRuns = all.at(-1)?.runs ?? 0;
  const before = view.daysToCompare(all.slice(-1 - view.USUAL_DAYS, -1), todayRuns);
  const from = span.startMs - before.length * DAY_MS;
  // Runs may begin while these are read.
  const [runs, failed, costs] = await Promise.all(
    (["runs", "failures", "costs"] as const).map((of) =>
      todayRuns > view.STARTS_MAX
        ? null
        : deps.runList.starts(team, of, from, span.endMs, 2 * view.STARTS_MAX)
    ),
  );
  const days = runs ? view.completeDays(before, runs) : [];
  return {
    days: days.length,
    runs: view.soFarOf(runs ?? [], days, span),
    failed: view.soFarOf(failed ?? [], days, span),
    cost: view.soFarOf(costs ?? [], days, span, ({ cost }) => Number(cost)),
  };
}

/** Reads the newest open runs, and counts all: a run is open in the status `running`. */
async function readRunning(reader: Reader, nowMs: number) {
  const { deps: { runList }, team } = reader;
  const query = { status: "running" as const, from: null, to: null };
  const [{ rows }, starts] = await Promise.all([
    runList.page(team, query, null, READ_MAX.running),
    runList.starts(team, "running", 0, nowMs + DAY_MS, RUNNING_MAX),
  ]);
  const count = starts === null
    ? `${formatCount(RUNNING_MAX)}+`
    : formatCount(Math.max(rows.length, starts.length));
  return { rows, usual: await readUsual(reader, rows), count };
}

async function readSlowest({ deps, team }: Reader, { startMs, endMs }: view.Span) {
  const today = { from: startMs, to: endMs };
  const { rows, next } = await deps.runList.page(team, today, null, READ_MAX.recent);
  const slowest = rows.filter(({ durationMs }) => durationMs !== null)
    .sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0)).slice(0, SHOWN);
  return { rows: slowest, compared: rows.length, isAll: next === null };
}

/** Reads the spend by agent; null if too many agents ran today. */
async function readAgents({ deps, team }: Reader, span: view.Span) {
  const read = async (from: string, to: string, max: number) => {
    const rows = await firstRows(deps.spend.rows(team, "agent", from, to), max + 1);
    return rows.length > max ? null : rows;
  };
  const [today, before] = await Promise.all([
    read(span.today, span.today, READ_MAX.agents),
    read(span.readFrom, span.yesterday, READ_MAX.agentsBefore),
  ]);
  return today && view.rankAgents(today, before);
}

/** Reads processing that was given up, refused calls, broken channels, undelivered messages. */
async function readProblems(reader: Reader, nowMs: number) {
  const { deps, team } = reader;
  const [givenUp, rejected, channels, { deliveries, next }] = await Promise.all([
    deps.deadStages.ofTeam(team),
    countRejected(reader, nowMs),
    readAll(reader, CHANNELS),
    listDeliveries(reader, {
      ...{ state: "dead", limit: READ_MAX.undelivered, fromMs: nowMs - DAY_MS },
    }),
  ]);
  const slugs = channels.filter(({ settings }) => settings.enabled).map(({ slug }) => slug);
  const health = await deps.channels.health(team, slugs);
  const stopped = ["broken", "needs_secret"];
  const broken = slugs.filter((slug) => stopped.includes(health.get(slug)?.state ?? "ok"));
  const undelivered = deliveries.length;
  return { givenUp, rejected, broken, undelivered, hasMoreUndelivered: next !== null };
}

/** Reads how many of today's runs each enabled check judged and failed, the most failures first. */
async function readChecks(reader: Reader, today: string) {
  const [checks, totals] = await Promise.all([
    readAll(reader, CHECKS),
    reader.deps.checkStats.totals(reader.team, today, today),
  ]);
  const counted = checks.filter(({ settings }) => settings.enabled).map(
    ({ id, slug, settings }) => {
      const { pass = 0, fail = 0, error = 0 } = totals.get(id ?? "")?.[0] ?? {};
      return { slug, description: settings.description, fail, judged: pass + fail + error };
    },
  );
  return counted.sort((a, b) => b.fail - a.fail);
}
