/**
 * The nightly retention sweep: schedule, reports and store contract (decision 40).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import { dayOf, HOUR_MS } from "../core/time.ts";

/** Hour of the day in UTC at which a sweep becomes due (decision 40). */
export const SWEEP_HOUR = 2;

/**
 * Maximum milliseconds that the sweep clock moves per sweep. The machine's clock may be wrong and
 * removal is final: a wrong clock removes data at most this much too early.
 */
export const SWEEP_CLOCK_STEP_MS = 36 * HOUR_MS;

/**
 * Minimum milliseconds of process time between two moves of the sweep clock. A new process may move
 * the clock once without waiting, if the clock is at least this old.
 */
export const SWEEP_GAP_MS = 20 * HOUR_MS;

/** Milliseconds without progress after which a sweep counts as aborted and another process resumes it. */
export const SWEEP_SILENCE_MS = 20_000;

/**
 * Age in milliseconds from which chunks of a write that was not committed are removed: no write takes
 * as long.
 */
export const STAGED_MS_MAX = 10 * 60_000;

/** Counts of an empty sweep. */
export const EMPTY_SWEEP = {
  /** Runs whose payload was removed, completely or in part. */
  payloads: 0,
  /** Events removed. */
  events: 0,
  /** Runs whose record was removed. */
  records: 0,
  /** Runs without an opening whose parts were removed. */
  orphans: 0,
  /** Ids of deleted runs that may be used again. */
  released: 0,
  /** Runs that could not be read and are unchanged. */
  failed: 0,
};

/** Counts of a sweep. */
export type SweepCounts = Readonly<typeof EMPTY_SWEEP>;

/** Report of one night's sweep. */
export interface SweepReport {
  /** Night of the sweep: the UTC day of its 02:00, `YYYY-MM-DD`. */
  readonly night: string;
  /** Reference time for ages, unix milliseconds. */
  readonly clockAt: number;
  /** Time at which it was started or resumed, unix milliseconds. */
  readonly startedAt: number;
  /** Time of its last progress update, unix milliseconds. */
  readonly toldAt: number;
  /** Time of completion, unix milliseconds; null until then. */
  readonly finishedAt: number | null;
  /** Number of teams completed. */
  readonly teams: number;
  /** The last of them, after which a later process resumes; absent for none. */
  readonly lastTeam?: TeamId;
  /** Counts so far. Removals of a killed process after its last progress update are missing. */
  readonly counts: SweepCounts;
}

/** Returns the night of an instant: the last one that started. */
export function nightOf(nowMs: number): string {
  return dayOf(nowMs - SWEEP_HOUR * HOUR_MS);
}

/** Returns whether a night must be swept: it has no report, or its sweep was aborted. */
export function isSweepDue(report: SweepReport | null, nowMs: number): boolean {
  if (report === null) return true;
  return report.finishedAt === null && nowMs - report.toldAt > SWEEP_SILENCE_MS;
}

/**
 * Returns the sweep clock after a sweep. It follows the machine's clock in either direction by at most
 * {@link SWEEP_CLOCK_STEP_MS}. This also corrects a clock that was ahead when the ledger was created.
 */
export function nextSweepClock(storedMs: number, nowMs: number): number {
  return Math.min(Math.max(nowMs, storedMs - SWEEP_CLOCK_STEP_MS), storedMs + SWEEP_CLOCK_STEP_MS);
}

/** Sweep clock with the version at which it was read. */
export interface SweepClock {
  /** Instant set by the last sweep, unix milliseconds. */
  readonly atMs: number;
  /** Version, which changes with every write. */
  readonly version: string;
}

/** Move of the sweep clock. */
export interface SweepClockMove {
  /** Clock as read; null for none. */
  readonly from: SweepClock | null;
  /** New instant, unix milliseconds. */
  readonly toMs: number;
}

/** Report with the version at which it was read or written. */
export interface ReadReport {
  /** The report. */
  readonly report: SweepReport;
  /** Version, which changes with every write. */
  readonly version: string;
}

/** Result of one step of a sweep. */
export interface SweepStep {
  /** Data removed, or that a dry run would remove. */
  readonly counts: SweepCounts;
  /** Opaque cursor of the store for the next step; null if nothing more is due. */
  readonly next: object | null;
}
