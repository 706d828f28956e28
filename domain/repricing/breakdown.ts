/**
 * What pricing calls anew comes to by agent and by day, so that people see what a new price changes.
 *
 * It is part of the job, which every step writes: so it is bounded, and what is beyond the bounds is
 * summed. It always adds up to the job's own sum.
 *
 * @module
 */
import { addRepriced, type RepriceSum } from "./reprice.ts";

/** Agents that are told apart: those that a job meets first. */
export const BREAKDOWN_AGENTS_MAX = 20;

/** Days that are told apart: the latest. */
export const BREAKDOWN_DAYS_MAX = 62;

/** What an agent's calls come to; null stands for all that are not told apart. */
export interface AgentBreakdown {
  /** The agent. */
  readonly agent: string | null;
  /** Its calls. */
  readonly sum: RepriceSum;
}

/** What the calls of some days come to. */
export interface DayBreakdown {
  /** First UTC day, `YYYY-MM-DD`. */
  readonly from: string;
  /** Last such day: another one only where days are not told apart any more. */
  readonly to: string;
  /** The calls. */
  readonly sum: RepriceSum;
}

/** A job's sum in parts. */
export interface RepriceBreakdown {
  /** By agent, in the order the job met them. */
  readonly agents: readonly AgentBreakdown[];
  /** By the day that runs started, in order. */
  readonly days: readonly DayBreakdown[];
}

/** The parts of nothing. */
export const EMPTY_BREAKDOWN: RepriceBreakdown = { agents: [], days: [] };

/**
 * Adds what some calls of a run come to.
 *
 * @param agent null for a run that names none
 * @param day of the run's start; no earlier one comes after it
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
  const named = agents.filter((share) => share.agent !== null);
  const isApart = named.some((share) => share.agent === agent) ||
    named.length < BREAKDOWN_AGENTS_MAX;
  const name = isApart ? agent : null;
  return agents.some((share) => share.agent === name)
    ? agents.map((share) =>
      share.agent === name ? { ...share, sum: addRepriced(share.sum, sum) } : share
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
    return days.with(-1, { ...last, sum: addRepriced(last.sum, sum) });
  }
  const longer = [...days, { from: day, to: day, sum }];
  const [first, second, ...rest] = longer;
  if (longer.length <= BREAKDOWN_DAYS_MAX || first === undefined || second === undefined) {
    return longer;
  }
  return [{ from: first.from, to: second.to, sum: addRepriced(first.sum, second.sum) }, ...rest];
}
