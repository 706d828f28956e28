/**
 * The nightly sweep: when it is due, what it did, and what it needs of the store (decision 40).
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import { dayOf } from "../core/time.ts";
import type { RetentionClass } from "./retention.ts";

/** Hour of the day, in UTC, from which a night is swept (decision 40). */
export const SWEEP_HOUR = 2;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Most milliseconds that the clock of sweeps moves with one sweep. The machine's clock may be wrong, and
 * what a sweep removes is gone: so a wrong one removes things at most this much too early.
 */
export const SWEEP_CLOCK_STEP_MS = 36 * HOUR_MS;

/**
 * Least milliseconds of process time between two moves of the clock of sweeps. A process that starts may
 * move it once without them, when it is at least so old.
 */
export const SWEEP_GAP_MS = 20 * HOUR_MS;

/** Milliseconds without a word after which a sweep counts as broken off, and another takes it up. */
export const SWEEP_SILENCE_MS = 60_000;

/** What a sweep removed. */
export interface SweepCounts {
  /** Runs whose payload went, or some of it. */
  readonly payloads: number;
  /** Events that went. */
  readonly events: number;
  /** Runs whose record went. */
  readonly records: number;
  /** Parts without an opening that went, by run. */
  readonly orphans: number;
  /** Ids of deleted runs that are free again. */
  readonly released: number;
  /** Runs that could not be read; they are as they were. */
  readonly failed: number;
}

/** Nothing. */
export const EMPTY_SWEEP: SweepCounts = {
  payloads: 0,
  events: 0,
  records: 0,
  orphans: 0,
  released: 0,
  failed: 0,
};

/** Adds what was swept. */
export function addSwept(a: SweepCounts, b: SweepCounts): SweepCounts {
  return {
    payloads: a.payloads + b.payloads,
    events: a.events + b.events,
    records: a.records + b.records,
    orphans: a.orphans + b.orphans,
    released: a.released + b.released,
    failed: a.failed + b.failed,
  };
}

/** Tells whether a sweep removed nothing, and met no run that it could not read. */
export function isEmptySweep(counts: SweepCounts): boolean {
  return Object.values(counts).every((count) => count === 0);
}

/** The report of one night's sweep. */
export interface SweepReport {
  /** The night, by the UTC day of its 02:00, `YYYY-MM-DD`. */
  readonly night: string;
  /** The instant that it judges ages at, unix milliseconds. */
  readonly clockAt: number;
  /** When it began, or was taken up again, unix milliseconds. */
  readonly startedAt: number;
  /** When it last said how far it is, unix milliseconds. */
  readonly toldAt: number;
  /** When it was done, unix milliseconds; null while it is not. */
  readonly finishedAt: number | null;
  /** Teams it is done with. */
  readonly teams: number;
  /** What it removed. What a killed process had removed since it last told is not in it. */
  readonly counts: SweepCounts;
}

/** The night that an instant is in: the last one that began. */
export function nightOf(nowMs: number): string {
  return dayOf(nowMs - SWEEP_HOUR * HOUR_MS);
}

/** Milliseconds until the next night begins. */
export function untilNextNight(nowMs: number): number {
  const sinceStart = (nowMs - SWEEP_HOUR * HOUR_MS) % DAY_MS;
  return DAY_MS - sinceStart;
}

/** Whether a night is still to be swept, by what is known of it: nobody began, or who did fell silent. */
export function isSweepDue(report: SweepReport | null, nowMs: number): boolean {
  if (report === null) return true;
  return report.finishedAt === null && nowMs - report.toldAt > SWEEP_SILENCE_MS;
}

/**
 * The clock of sweeps after a sweep: it follows the machine's clock, ahead or back, by a step at most. A
 * clock that was too far ahead when the ledger was new comes back to the truth in this way.
 */
export function nextSweepClock(storedMs: number, nowMs: number): number {
  return Math.min(Math.max(nowMs, storedMs - SWEEP_CLOCK_STEP_MS), storedMs + SWEEP_CLOCK_STEP_MS);
}

/** The clock of sweeps with the version it was read in. */
export interface SweepClock {
  /** The instant that the last sweep moved it to, unix milliseconds. */
  readonly atMs: number;
  /** Changes with it. */
  readonly version: string;
}

/** A move of the clock of sweeps. */
export interface SweepClockMove {
  /** As it was read; null for none yet. */
  readonly from: SweepClock | null;
  /** Where it moves to, unix milliseconds. */
  readonly toMs: number;
}

/** A report with the version it was read or written in. */
export interface ReadReport {
  /** The report. */
  readonly report: SweepReport;
  /** Changes with it. */
  readonly version: string;
}

/** A step of a sweep. */
export interface SweepStep {
  /** What it removed, or would. */
  readonly counts: SweepCounts;
  /** Where to go on, for the store alone to read; null when nothing more is due. */
  readonly next: object | null;
}

/** The store as a sweep sees it. Methods reject with `StorageUnavailable` when it fails. */
export interface SweepStore {
  /** All teams. */
  teams(): AsyncIterable<Team>;
  /** Finishes removals that a killed process broke off. */
  resume(): Promise<void>;
  /**
   * Looks at the next runs of a team that are due, and removes what is too old of them.
   *
   * @param from `next` of the step before; null for the first
   * @param dryRun whether to count only
   */
  step(
    team: Team,
    horizon: RetentionClass,
    nowMs: number,
    from: object | null,
    dryRun: boolean,
  ): Promise<SweepStep>;
  /**
   * Deletes some sessions of the dashboard that are over by age.
   *
   * @param from what the call before answered; null for the first
   * @returns where to go on; null when no session is left to look at
   */
  forgetSessions(nowMs: number, from: object | null): Promise<object | null>;
  /** Reads the clock of sweeps; null when the ledger has none yet. */
  clock(): Promise<SweepClock | null>;
  /** Stores the first clock of sweeps, unless another process has. */
  startClock(atMs: number): Promise<void>;
  /** The report of a night; null when nobody has begun it. */
  report(night: string): Promise<ReadReport | null>;
  /** The last reports, latest first. */
  reports(max: number): Promise<readonly SweepReport[]>;
  /**
   * Stores a report in the place of a known one, or the first; null when another process was faster.
   *
   * @param move moves the clock of sweeps in the same commit
   */
  tell(
    known: ReadReport | null,
    report: SweepReport,
    move?: SweepClockMove,
  ): Promise<ReadReport | null>;
}
