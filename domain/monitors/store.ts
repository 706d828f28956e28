/**
 * Monitors with the activity of their agents, their proposals, and queries for lists.
 *
 * @module
 */
import type { PageBounds } from "../core/query.ts";
import type { Monitor, MonitorState } from "./row.ts";
import type { Schedule } from "./schedule.ts";

/** A monitor with the activity of its agent. */
export interface MonitorRecord {
  /** The monitor. */
  readonly monitor: Monitor;
  /** Number of the agent's open runs. */
  readonly running: number;
}

/** Settings that fit an agent's latest runs (decision 113). */
export interface MonitorProposal {
  /** When the agent is expected. */
  readonly schedule: Schedule;
  /** Seconds of grace. */
  readonly graceSeconds: number;
  /** Number of runs that it was derived from. */
  readonly fromRuns: number;
  /** Fraction of the gaps that it explains, 0 to 1. */
  readonly hits: number;
}

/** A query for a list of monitors. */
export interface MonitorsQuery extends PageBounds<string> {
  /** Only monitors in this state; null for all. */
  readonly state: MonitorState | null;
}

/** A query for the flips of an agent, latest first. */
export interface FlipsQuery extends PageBounds<number> {
  /** Earliest instant, inclusive, unix milliseconds. */
  readonly fromMs: number;
  /** Latest instant, exclusive, unix milliseconds. */
  readonly toMs: number;
}

/** Days for which flips are kept. */
export const FLIP_DAYS = 400;

/** Monitors per page, and flips per page. */
export const MONITORS_PER_PAGE = { default: 100, max: 500 } as const;
