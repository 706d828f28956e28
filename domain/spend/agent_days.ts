/**
 * What agents' runs came to of late, day by day.
 *
 * @module
 */
import { addMeasures, EMPTY_MEASURES, type RollupRow } from "./rollup.ts";
import type { Measures } from "../runs/contribution.ts";

/** Days that are shown of an agent, today among them. */
export const AGENT_DAYS = 30;

/** Sums of one UTC day. */
export interface DayOfRuns {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** The sums. */
  readonly measures: Measures;
}

/** The days of an agent. */
export interface AgentDays {
  /** Sums of all of them. */
  readonly total: Measures;
  /** Every day that was asked for, in its order. */
  readonly days: readonly DayOfRuns[];
}

/**
 * Sorts rows of agents by agent and day; days without a row are empty.
 *
 * @param rows of kind `agent`, one a day and agent
 * @param agents slugs of those that are answered
 * @param days UTC days, `YYYY-MM-DD`
 */
export function daysOfAgents(
  rows: readonly RollupRow[],
  agents: readonly string[],
  days: readonly string[],
): ReadonlyMap<string, AgentDays> {
  const known = new Map<string, Map<string, Measures>>(agents.map((agent) => [agent, new Map()]));
  for (const { day, group, measures } of rows) {
    if (group.kind === "agent") known.get(group.value ?? "")?.set(day, measures);
  }
  return new Map(Array.from(known, ([agent, byDay]) => [agent, {
    total: [...byDay.values()].reduce(addMeasures, EMPTY_MEASURES),
    days: days.map((day) => ({ day, measures: byDay.get(day) ?? EMPTY_MEASURES })),
  }]));
}
