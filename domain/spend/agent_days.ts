/**
 * Recent totals of agents' runs, by day.
 *
 * @module
 */
import { addCounts } from "../core/sums.ts";
import { EMPTY_MEASURES, type Measures } from "../runs/summary.ts";
import { type RollupRow } from "./rollup.ts";

/** Days shown for an agent, including today. */
export const AGENT_DAYS = 30;

/** Totals of one UTC day. */
export interface DayOfRuns {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Totals of the day. */
  readonly measures: Measures;
}

/** The days of an agent. */
export interface AgentDays {
  /** Totals of all days. */
  readonly total: Measures;
  /** Every requested day, in the requested order. */
  readonly days: readonly DayOfRuns[];
}

/**
 * Groups agent rows by agent and day; days without a row are empty.
 *
 * @param rows rows of kind `agent`, one per day and agent
 * @param agents slugs of the agents to return
 * @param days UTC days, `YYYY-MM-DD`
 */
export function daysOfAgents(
  rows: readonly RollupRow[],
  agents: readonly string[],
  days: readonly string[],
): ReadonlyMap<string, AgentDays> {
  const byAgent = new Map<string, Map<string, Measures>>(agents.map((agent) => [agent, new Map()]));
  for (const { day, group, measures } of rows) {
    if (group.kind === "agent") byAgent.get(group.value ?? "")?.set(day, measures);
  }
  return new Map(Array.from(byAgent, ([agent, byDay]) => [agent, {
    total: [...byDay.values()].reduce(addCounts, EMPTY_MEASURES),
    days: days.map((day) => ({ day, measures: byDay.get(day) ?? EMPTY_MEASURES })),
  }]));
}
