/**
 * Breakdown of a repricing job's total by agent and by day, which shows the effect of a new price.
 *
 * Every step writes it with the job, so its size is bounded. Entries beyond the bounds are aggregated,
 * so the breakdown always equals the job's total.
 *
 * @module
 */
import { addCounts } from "../core/sums.ts";
import { type RepriceSum } from "./reprice.ts";

/** Maximum agents with their own entry: the first that a job visits. */
export const BREAKDOWN_AGENTS_MAX = 20;

/** Maximum days with their own entry: the latest. */
export const BREAKDOWN_DAYS_MAX = 62;

/** Total of an agent's calls. */
export interface AgentBreakdown {
  /** Agent; null for runs without an agent and for all agents beyond the maximum. */
  readonly agent: string | null;
  /** Total of its calls. */
  readonly sum: RepriceSum;
}

/** Total of a range of days, usually one day. */
export interface DayBreakdown {
  /** First UTC day, `YYYY-MM-DD`. */
  readonly from: string;
  /** Last UTC day; differs from `from` only for days beyond the maximum. */
  readonly to: string;
  /** Total of the calls. */
  readonly sum: RepriceSum;
}

/** Breakdown of a job's total. */
export interface RepriceBreakdown {
  /** By agent, in the order of the job's visits. */
  readonly agents: readonly AgentBreakdown[];
  /** By UTC day of the runs' start, ascending. */
  readonly days: readonly DayBreakdown[];
}

/** Breakdown of no calls. */
export const EMPTY_BREAKDOWN: RepriceBreakdown = { agents: [], days: [] };

/**
 * Adds the total of some calls of a run.
 *
 * @param agent agent of the run; null for none
 * @param day UTC day of the run's start; never earlier than in previous calls
 */
export function addToBreakdown(
  { agents, days }: RepriceBreakdown,
  agent: string | null,
  day: string,
  sum: RepriceSum,
): RepriceBreakdown {
  if (sum.calls === 0) return { agents, days };
  return { agents: withAgent(agents, agent, sum), days: withDay(days, day, sum) };
}

function withAgent(
  agents: readonly AgentBreakdown[],
  agent: string | null,
  sum: RepriceSum,
): readonly AgentBreakdown[] {
  const named = agents.filter((entry) => entry.agent !== null);
  const isApart = named.some((entry) => entry.agent === agent) ||
    named.length < BREAKDOWN_AGENTS_MAX;
  const name = isApart ? agent : null;
  return agents.some((entry) => entry.agent === name)
    ? agents.map((entry) =>
      entry.agent === name ? { ...entry, sum: addCounts(entry.sum, sum) } : entry
    )
    : [...agents, { agent: name, sum }];
}

function withDay(
  days: readonly DayBreakdown[],
  day: string,
  sum: RepriceSum,
): readonly DayBreakdown[] {
  const last = days.at(-1);
  if (last !== undefined && last.to >= day) {
    return days.with(-1, { ...last, sum: addCounts(last.sum, sum) });
  }
  const allDays = [...days, { from: day, to: day, sum }];
  const [first, second, ...laterDays] = allDays;
  if (allDays.length <= BREAKDOWN_DAYS_MAX || first === undefined || second === undefined) {
    return allDays;
  }
  const merged = { from: first.from, to: second.to, sum: addCounts(first.sum, second.sum) };
  return [merged, ...laterDays];
}
