/**
 * Activity of agents: totals of their runs.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { addCounts, compare, subtractCounts } from "../core/sums.ts";
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
  /** Arrival of the later of opening and close, unix milliseconds; no call is an idle close. */
  readonly receivedAt: number;
}

/** Counts of an agent without runs. */
export const NO_AGENT_RUNS = {
  /** Number of runs in any status. */
  runs: 0,
  /** Number of runs in status `success`. */
  succeeded: 0,
  /** Number of runs in status `failed`. */
  failed: 0,
  /** Number of runs in status `running`. */
  running: 0,
};

/** Numbers of runs of an agent. */
export type AgentRunCounts = Readonly<typeof NO_AGENT_RUNS>;

/** Totals over the runs of an agent. */
export interface AgentActivity extends AgentRunCounts {
  /** Latest arrival of an opening or a close, unix milliseconds. */
  readonly lastSeen: number;
  /**
   * Run that started last; of several at the same instant, the one with the greatest id. Null if it
   * was deleted and no other run is left.
   */
  readonly lastRun: LastRun | null;
}

const NO_ACTIVITY: AgentActivity = { ...NO_AGENT_RUNS, lastSeen: 0, lastRun: null };

/** The run of an agent that started last. */
export type LastRun = Pick<AgentRun, "id" | "status" | "startedAt" | "sortedAt">;

/** Returns a run as its agent counts it; null until its opening names the agent. */
export function agentRunOf(id: RunId, summary: RunSummary | null): AgentRun | null {
  if (!summary?.contribution || !summary.times) return null;
  const { contribution, times, listed, seen, shown } = summary;
  const { agent, status } = contribution.labels;
  // A run that is closed because it is idle was not seen then.
  const seenAt = seen.closedBy === "idle" ? shown.openedAt : null;
  const receivedAt = seenAt ?? times.receivedAt;
  return agent === null
    ? null
    : { agent, id, status, startedAt: times.startedAt, receivedAt, sortedAt: listed.at };
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
  const current = activity ?? NO_ACTIVITY;
  return {
    ...addCounts(current, subtractCounts(countsOf(after), countsOf(before))),
    lastSeen: Math.max(current.lastSeen, after.receivedAt),
    lastRun: laterRun(current.lastRun, lastRunAs(after)),
  };
}

function countsOf(run: AgentRun | null): AgentRunCounts {
  if (run === null) return NO_AGENT_RUNS;
  const count = (status: RunStatus) => Number(run.status === status);
  return {
    runs: 1,
    succeeded: count("success"),
    failed: count("failed"),
    running: count("running"),
  };
}

/**
 * Subtracts a deleted run. The last-seen time stays. If it was the last run, `lastRun` becomes
 * null, because the previous one must be searched for.
 */
export function subtractAgentRun(activity: AgentActivity, run: AgentRun): AgentActivity {
  const lastRun = activity.lastRun?.id === run.id ? null : activity.lastRun;
  return { ...subtractCounts(activity, countsOf(run)), lastRun };
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
export function addActivities(a: AgentActivity, b: AgentActivity): AgentActivity {
  const { lastSeen, lastRun, ...counts } = b;
  return { ...withLastSeen(addCounts(a, counts), lastSeen), lastRun: laterRun(a.lastRun, lastRun) };
}

/** Records that an agent was seen, without counting a run. */
export function withLastSeen(activity: AgentActivity | null, atMs: number): AgentActivity {
  const current = activity ?? NO_ACTIVITY;
  return { ...current, lastSeen: Math.max(current.lastSeen, atMs) };
}

type Start = Pick<AgentRun, "id" | "sortedAt">;

function compareStarts(a: Start, b: Start): number {
  return a.sortedAt - b.sortedAt || compare(a.id, b.id);
}
