/**
 * The contract of the store of monitors. Methods reject with `StorageUnavailable` when it fails.
 *
 * @module
 */
import type { Parsed } from "../core/errors.ts";
import type { PageBounds } from "../core/query.ts";
import type { MadeBy, Team } from "../teams/team.ts";
import type { Flip, Monitor, MonitorPause, MonitorSettings, MonitorState } from "./row.ts";
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

/** Result of a `PUT`; `replayed` if nothing differs. */
export interface PutMonitor {
  /** Outcome. */
  readonly kind: "stored" | "replayed";
  /** The monitor after the call. */
  readonly record: MonitorRecord;
}

/** A query for a list of monitors. */
export interface MonitorsQuery extends PageBounds<string> {
  /** Only monitors in this state; null for all. */
  readonly state: MonitorState | null;
}

/** A page of monitors in the order of their agents. */
export interface MonitorPage {
  /** Monitors, in order. */
  readonly monitors: readonly MonitorRecord[];
  /** Agent after which the next page starts; null at the end. */
  readonly next: string | null;
}

/** A query for the flips of an agent, latest first. */
export interface FlipsQuery extends PageBounds<number> {
  /** Earliest instant, inclusive, unix milliseconds. */
  readonly fromMs: number;
  /** Latest instant, exclusive, unix milliseconds. */
  readonly toMs: number;
}

/** A page of flips, latest first. */
export interface FlipPage {
  /** Flips, in order. */
  readonly flips: readonly Flip[];
  /** Instant before which the next page starts; null at the end. */
  readonly next: number | null;
}

/** Days for which flips are kept. */
export const FLIP_DAYS = 400;

/** Monitors per page, and flips per page. */
export const MONITORS_PER_PAGE = { default: 100, max: 500 } as const;

/** Stores monitors. Each method that takes an agent returns null if the team has none with it. */
export interface MonitorStore {
  /** Creates or replaces a monitor; null if the team has no such agent. */
  put(
    team: Team,
    agent: string,
    settings: MonitorSettings,
    version: number | null,
    made: MadeBy,
  ): Promise<Parsed<PutMonitor> | null>;
  /** Creates a monitor for an existing agent that has none, as a ping asks for (decision 114). */
  createMissing(team: Team, agent: string, settings: MonitorSettings, made: MadeBy): Promise<void>;
  /** Reads the monitor of an agent. */
  read(team: Team, agent: string): Promise<MonitorRecord | null>;
  /** Returns a page of monitors. */
  list(team: Team, query: MonitorsQuery): Promise<MonitorPage>;
  /** Deletes a monitor and its flips. */
  remove(team: Team, agent: string, made: MadeBy): Promise<Monitor | null>;
  /** Pauses a monitor. */
  pause(
    team: Team,
    agent: string,
    pause: MonitorPause,
    made: MadeBy,
  ): Promise<MonitorRecord | null>;
  /** Ends a pause; changes nothing without one. */
  resume(team: Team, agent: string, made: MadeBy): Promise<MonitorRecord | null>;
  /** Returns a page of an agent's flips. */
  flips(team: Team, agent: string, query: FlipsQuery): Promise<FlipPage>;
  /**
   * Returns flips of several agents since an instant, and an absence that began before it, oldest
   * first, at most `max` for each.
   */
  flipsOf(
    team: Team,
    agents: readonly string[],
    fromMs: number,
    max: number,
  ): Promise<ReadonlyMap<string, readonly Flip[]>>;
  /** Returns the settings that fit the agent's latest runs; null if none do. */
  proposal(team: Team, agent: string, tz: string): Promise<MonitorProposal | null>;
}
