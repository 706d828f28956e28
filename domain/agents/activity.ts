/**
 * Activity of agents: what their runs add up to.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { RunStatus } from "../runs/run.ts";
import type { RunSummary } from "../runs/summary.ts";

/** What a run says of its agent. */
export interface AgentRun {
  /** The agent's slug. */
  readonly agent: string;
  /** The run. */
  readonly id: RunId;
  /** Its status. */
  readonly status: RunStatus;
  /** Start by the client's clock, unix milliseconds. */
  readonly startedAt: number;
  /** What it is sorted by (`sortedAtOf`), unix milliseconds. */
  readonly sortedAt: number;
  /** Arrival of the later of opening and close, unix milliseconds. */
  readonly receivedAt: number;
}

/** What the runs of an agent come to. */
export interface AgentActivity {
  /** How many runs, however they ended. */
  readonly runs: number;
  /** How many of them are `success`. */
  readonly succeeded: number;
  /** How many of them are `failed`. */
  readonly failed: number;
  /** How many of them are `running`. */
  readonly running: number;
  /** Latest arrival of an opening or a close, unix milliseconds. */
  readonly lastSeen: number;
  /**
   * The run that started last; of several at one instant the one with the greatest id. Null when it was
   * deleted and no other is left.
   */
  readonly lastRun: LastRun | null;
}

/** The run of an agent that started last. */
export type LastRun = Pick<AgentRun, "id" | "status" | "startedAt" | "sortedAt">;

/** A run as its agent counts it; null until its opening says which agent that is. */
export function agentRunOf(id: RunId, summary: RunSummary | null): AgentRun | null {
  if (!summary?.contribution || !summary.times) return null;
  const { agent, status } = summary.contribution.labels;
  return agent === null
    ? null
    : { agent, id, status, ...summary.times, sortedAt: summary.listed.at };
}

/**
 * Counts a run in, or what changed of one that is counted already.
 *
 * Counts change by differences, and the rest are maxima of what never gets less: the order in which
 * runs and their states come cannot matter.
 *
 * @param known what the agent's runs came to so far
 * @param before the run as it is counted in `known`; null when it is not
 */
export function addAgentRun(
  known: AgentActivity | null,
  before: AgentRun | null,
  after: AgentRun,
): AgentActivity {
  const change = (status: RunStatus) =>
    Number(after.status === status) - Number(before?.status === status);
  const last = known?.lastRun ?? null;
  return {
    runs: (known?.runs ?? 0) + (before === null ? 1 : 0),
    succeeded: (known?.succeeded ?? 0) + change("success"),
    failed: (known?.failed ?? 0) + change("failed"),
    running: (known?.running ?? 0) + change("running"),
    lastSeen: Math.max(known?.lastSeen ?? 0, after.receivedAt),
    lastRun: laterRun(last, lastRunAs(after)),
  };
}

/**
 * Counts a run out that is deleted. When the agent was last seen stays; which run was its last has to be
 * found out anew when it was this one, so there is none then.
 */
export function takeAgentRun(known: AgentActivity, { id, status }: AgentRun): AgentActivity {
  const change = (of: RunStatus) => Number(status === of);
  return {
    runs: known.runs - 1,
    succeeded: known.succeeded - change("success"),
    failed: known.failed - change("failed"),
    running: known.running - change("running"),
    lastSeen: known.lastSeen,
    lastRun: known.lastRun?.id === id ? null : known.lastRun,
  };
}

/** A run as the last one of its agent. */
export function lastRunAs({ id, status, startedAt, sortedAt }: AgentRun): LastRun {
  return { id, status, startedAt, sortedAt };
}

/** The later of two runs; a run that is told again is as told last. */
export function laterRun(a: LastRun | null, b: LastRun | null): LastRun | null {
  if (a === null || b === null) return a ?? b;
  return compareStarts(b, a) >= 0 ? b : a;
}

/** What two sets of runs come to together. */
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

/** Notes that an agent was seen, without a run to count. */
export function seenLater(known: AgentActivity | null, atMs: number): AgentActivity {
  const none = { runs: 0, succeeded: 0, failed: 0, running: 0, lastSeen: 0, lastRun: null };
  return { ...known ?? none, lastSeen: Math.max(known?.lastSeen ?? 0, atMs) };
}

type Start = Pick<AgentRun, "id" | "sortedAt">;

function compareStarts(a: Start, b: Start): number {
  return a.sortedAt - b.sortedAt || compareTexts(a.id, b.id);
}

/** Compares two texts for a sort. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
