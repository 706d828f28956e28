/**
 * Activity of agents: totals of their runs.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { RunStatus } from "../runs/run.ts";
import type { RunSummary } from "../runs/summary.ts";

/** A run as counted by its agent. */
export interface AgentRun {
  /** Agent's slug. */
  readonly agent: string;
  /** The run. */
  readonly id: RunId;
  /** Its status. */
  readonly status: RunStatus;
  /** Start by the client's clock, unix milliseconds. */
  readonly startedAt: number;
  /** Sort instant (`sortedAtOf`), unix milliseconds. */
  readonly sortedAt: number;
  /** Arrival of the later of opening and close, unix milliseconds. */
  readonly receivedAt: number;
}

/** Totals over the runs of an agent. */
export interface AgentActivity {
  /** Number of runs in any status. */
  readonly runs: number;
  /** Number of runs in status `success`. */
  readonly succeeded: number;
  /** Number of runs in status `failed`. */
  readonly failed: number;
  /** Number of runs in status `running`. */
  readonly running: number;
  /** Latest arrival of an opening or a close, unix milliseconds. */
  readonly lastSeen: number;
  /**
   * Run that started last; of several at the same instant, the one with the greatest id. Null if it
   * was deleted and no other run is left.
   */
  readonly lastRun: LastRun | null;
}

/** The run of an agent that started last. */
export type LastRun = Pick<AgentRun, "id" | "status" | "startedAt" | "sortedAt">;

/** Returns a run as its agent counts it; null until its opening names the agent. */
export function agentRunOf(id: RunId, summary: RunSummary | null): AgentRun | null {
  if (!summary?.contribution || !summary.times) return null;
  const { agent, status } = summary.contribution.labels;
  return agent === null
    ? null
    : { agent, id, status, ...summary.times, sortedAt: summary.listed.at };
}

/**
 * Adds a run, or applies the change of a run that is already counted.
 *
 * Counts change by differences, and the other fields are maxima. So the order in which runs and
 * their states arrive does not matter.
 *
 * @param activity totals of the agent's runs so far
 * @param before the run as counted in `activity`; null if it is not counted yet
 */
export function addAgentRun(
  activity: AgentActivity | null,
  before: AgentRun | null,
  after: AgentRun,
): AgentActivity {
  const change = (status: RunStatus) =>
    Number(after.status === status) - Number(before?.status === status);
  const last = activity?.lastRun ?? null;
  return {
    runs: (activity?.runs ?? 0) + (before === null ? 1 : 0),
    succeeded: (activity?.succeeded ?? 0) + change("success"),
    failed: (activity?.failed ?? 0) + change("failed"),
    running: (activity?.running ?? 0) + change("running"),
    lastSeen: Math.max(activity?.lastSeen ?? 0, after.receivedAt),
    lastRun: laterRun(last, lastRunAs(after)),
  };
}

/**
 * Subtracts a deleted run. The last-seen time stays. If it was the last run, `lastRun` becomes
 * null, because the previous one must be searched for.
 */
export function takeAgentRun(activity: AgentActivity, { id, status }: AgentRun): AgentActivity {
  const change = (of: RunStatus) => Number(status === of);
  return {
    runs: activity.runs - 1,
    succeeded: activity.succeeded - change("success"),
    failed: activity.failed - change("failed"),
    running: activity.running - change("running"),
    lastSeen: activity.lastSeen,
    lastRun: activity.lastRun?.id === id ? null : activity.lastRun,
  };
}

/** Returns a run as the last run of its agent. */
export function lastRunAs({ id, status, startedAt, sortedAt }: AgentRun): LastRun {
  return { id, status, startedAt, sortedAt };
}

/** Returns the later of two runs; of two states of one run, the second. */
export function laterRun(a: LastRun | null, b: LastRun | null): LastRun | null {
  if (a === null || b === null) return a ?? b;
  return compareStarts(b, a) >= 0 ? b : a;
}

/** Adds the totals of two sets of runs. */
export function joinActivities(a: AgentActivity, b: AgentActivity): AgentActivity {
  return {
    runs: a.runs + b.runs,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    running: a.running + b.running,
    lastSeen: Math.max(a.lastSeen, b.lastSeen),
    lastRun: laterRun(a.lastRun, b.lastRun),
  };
}

/** Records that an agent was seen, without counting a run. */
export function seenLater(activity: AgentActivity | null, atMs: number): AgentActivity {
  const none = { runs: 0, succeeded: 0, failed: 0, running: 0, lastSeen: 0, lastRun: null };
  return { ...activity ?? none, lastSeen: Math.max(activity?.lastSeen ?? 0, atMs) };
}

type Start = Pick<AgentRun, "id" | "sortedAt">;

function compareStarts(a: Start, b: Start): number {
  return a.sortedAt - b.sortedAt || compareTexts(a.id, b.id);
}

/** Compares two texts for sorting. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
