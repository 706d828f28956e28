/** Reads the page of an agent: each tab reads its own part. */
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import { isName } from "../../../domain/core/rules.ts";
import { existing } from "../../../domain/core/errors.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { EMPTY_MEASURES } from "../../../domain/runs/summary.ts";
import { AGENT_DAYS, type AgentDays, daysOfAgents } from "../../../domain/spend/agent_days.ts";
import { daysOf } from "../../../domain/spend/spend_query.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import { madeBy } from "../../http/context.ts";
import { nameInPath } from "../../http/query.ts";
import { readOpenIncidents } from "../alerts/entries.tsx";
import { confirmedIn } from "../components/table.tsx";
import { FAILURES } from "../components/run_state.tsx";
import { readPreferences, shownZone } from "../layout/preferences.ts";
import { readRecords } from "./named_runs.tsx";
import type { PageHandler, Reader, Visit } from "../layout/page.tsx";

/** Maximum numbers of runs, failures and ping tokens listed. */
const RUNS_SHOWN = 20, FAILURES_SHOWN = 5, TOKENS_SHOWN = 20;

/** Latest runs whose durations are compared. */
const RUNS_READ = 100;

/** Maximum flips read, for the strip and the uptime. */
const FLIPS_MAX = 1_000;

/** Query that asks to confirm the deletion of a monitor. */
export const DELETES_MONITOR = "delete-monitor";

/** An agent that a request names, with the reader and the time of the request. */
export type AgentScope = Awaited<ReturnType<typeof readScope>>;

async function readScope(visit: Visit) {
  const { c, deps, team } = visit;
  const slug = nameInPath(c);
  const known = isName(slug, AGENT_CHARS_MAX) ? await deps.agents.read(team, slug) : null;
  const record = existing(known, NO_SUCH_AGENT);
  const made = madeBy(c, deps);
  const zone = shownZone(readPreferences(c));
  const confirms = confirmedIn(c, DELETES_MONITOR) !== null;
  return { ...visit, record, agent: record.agent, made, now: made.at, zone, confirms };
}

/** Handles a request for the agent that its path names. */
export function ofAgent(handle: (scope: AgentScope) => ReturnType<PageHandler>): PageHandler {
  return async (visit) => await handle(await readScope(visit));
}

/** The data of the overview. */
export type AgentOverview = Awaited<ReturnType<typeof loadOverview>>;

export async function loadOverview(scope: AgentScope) {
  const { deps, team, agent, now } = scope;
  const all = { agent, from: null, to: null };
  const [days, latest, failed, monitor] = await Promise.all([
    readDays(scope, [agent], now, AGENT_DAYS),
    deps.runList.page(team, all, null, RUNS_READ),
    deps.runList.page(team, { ...all, status: FAILURES }, null, FAILURES_SHOWN),
    loadMonitor(scope),
  ]);
  const failures = await readRecords(scope, failed.rows.map(({ id }) => id));
  return { ...monitor, days: days(agent), durations: durationsOf(latest.rows), failures };
}

export async function loadRuns({ deps, team, agent }: AgentScope) {
  const all = { agent, from: null, to: null };
  const { rows } = await deps.runList.page(team, all, null, RUNS_SHOWN);
  return await readRecords({ deps, team }, rows.map(({ id }) => id));
}

/** Reads the monitor of an agent with its history; without one, a proposal. */
export async function loadMonitor({ deps, team, agent, now, zone }: AgentScope) {
  const { monitors } = deps;
  const range = { fromMs: 0, toMs: now + 1, limit: FLIPS_MAX, after: null };
  const [record, open, { flips }] = await Promise.all([
    monitors.read(team, agent),
    readOpenIncidents({ deps, team }, { agent }),
    monitors.flips(team, agent, range),
  ]);
  return {
    /** Null if the agent has no monitor. */
    monitor: record?.monitor ?? null,
    /** Open incidents, newest first. */
    open,
    incidents: open.length,
    /** Latest flips, latest first. */
    flips,
    last: flips[0],
    /** Settings that fit the latest runs; null if none do, or if there is a monitor. */
    proposal: record === null ? await monitors.proposal(team, agent, zone) : null,
  };
}

/** Reads the ping tokens of an agent; null for readers who may not see them. */
export async function loadTokens({ deps, team, agent, isAdmin }: AgentScope) {
  if (!isAdmin) return null;
  return await deps.credentials.list(team, { agent, limit: TOKENS_SHOWN, after: null });
}

/**
 * Reads the last days of the given agents, and returns them by slug: one row per day and agent,
 * regardless of the size of the team.
 */
export async function readDays(
  { deps, team }: Reader,
  agents: readonly string[],
  nowMs: number,
  count: number,
) {
  const days = daysOf({ from: dayOf(nowMs - (count - 1) * DAY_MS), to: dayOf(nowMs) });
  const groups = agents.map((value) => ({ kind: "agent" as const, value }));
  const read = daysOfAgents(await deps.spend.some(team, groups, days), agents, days);
  return (agent: string): AgentDays => read.get(agent) ?? { total: EMPTY_MEASURES, days: [] };
}

/** Returns the durations of runs, shortest first; a run that one call reported has none. */
export function durationsOf(rows: readonly RunListRow[]): readonly number[] {
  return rows.flatMap(({ durationMs }) => durationMs || []).sort((a, b) => a - b);
}
