/**
 * Retention rules: which data of a run expires when (decisions 18 and 40).
 *
 * Payloads expire separately for each batch, opening and close, by time of arrival. The record
 * expires all at once, when its latest part is older than the record's retention. The parts alone
 * determine both.
 *
 * @module
 */
import type { EventLedger, LedgerAges } from "../runs/ledger.ts";
import type { PayloadState } from "../runs/record.ts";
import type { Closing, Metadata, Opening, RunParts } from "../runs/run.ts";
import type { RunSummary } from "../runs/summary.ts";
import type { TierLimits } from "../teams/plans.ts";
import { DAY_MS, dayOf, HOUR_MS } from "../core/time.ts";
import type { RunId, TeamId } from "../core/ids.ts";
import type { TeamJob } from "../core/jobs.ts";

/** Retention of parts without an opening in days (decision 18). */
export const ORPHAN_DAYS = 7;

/** Days for which a deleted run's id is refused and its receipt readable. */
export const TOMBSTONE_DAYS = 30;

/**
 * Reasons for the next retention check of a run: to release the tombstone of a deleted run, or to
 * remove parts without an opening, payloads, or the record.
 */
export const RETENTION_CLASSES = ["tombstone", "orphan", "payload", "record"] as const;

/** One of {@link RETENTION_CLASSES}. */
export type RetentionClass = typeof RETENTION_CLASSES[number];

/** Entry of a run in the expiry index: due when the retention of its class has passed after `since`. */
export interface ExpiryEntry {
  /** Reason for the check. */
  readonly retentionClass: RetentionClass;
  /** Arrival of the decisive part, unix milliseconds. */
  readonly since: number;
}

/** Retention limits of a plan. */
export type DaysOfPlan = Pick<TierLimits, "payloadDays" | "recordDays">;

/** Returns the retention of a class in days; `Infinity` for unlimited retention. */
export function daysKept(
  { payloadDays, recordDays }: DaysOfPlan,
  retentionClass: RetentionClass,
): number {
  switch (retentionClass) {
    case "tombstone":
      return TOMBSTONE_DAYS;
    case "orphan":
      return Math.min(ORPHAN_DAYS, recordDays);
    case "payload":
      return payloadDays;
    case "record":
      return recordDays;
    default:
      return retentionClass satisfies never;
  }
}

/** Returns the instant before which data is due, unix milliseconds; `-Infinity` for unlimited retention. */
export function cutoffOf(plan: DaysOfPlan, retentionClass: RetentionClass, nowMs: number): number {
  return nowMs - daysKept(plan, retentionClass) * DAY_MS;
}

/**
 * Returns the expiry entry of a run: by its oldest payload, or without payloads by its latest part.
 */
export function expiryEntryOf({ opening, closing }: RunParts, ledger: LedgerAges): ExpiryEntry {
  const payloads = [
    ...[opening, closing].flatMap((part) => hasPayload(part) ? [part?.receivedAt ?? 0] : []),
    ...ledger.oldestAt === null ? [] : [ledger.oldestAt],
  ];
  const since = payloads.length > 0
    ? Math.min(...payloads)
    : latestOf({ opening, closing }, ledger);
  if (opening === null) return { retentionClass: "orphan", since };
  return { retentionClass: payloads.length > 0 ? "payload" : "record", since };
}

/** Returns the arrival of the latest part of a run, unix milliseconds. */
function latestOf({ opening, closing }: RunParts, { latestAt, scores }: LedgerAges): number {
  const arrivals = [opening?.receivedAt, closing?.receivedAt, latestAt, scores?.latestAt];
  return Math.max(...arrivals.map((at) => at ?? 0));
}

/**
 * Returns the expired data of a run: expired payloads, or the complete record once its latest part is
 * past the last retention; null for none.
 */
export function dueOf(
  parts: RunParts,
  ledger: LedgerAges,
  plan: DaysOfPlan,
  nowMs: number,
): "payload" | "record" | null {
  const { retentionClass, since } = expiryEntryOf(parts, ledger);
  if (since >= cutoffOf(plan, retentionClass, nowMs)) return null;
  const last = parts.opening === null ? "orphan" : "record";
  return latestOf(parts, ledger) < cutoffOf(plan, last, nowMs) ? "record" : "payload";
}

/** Returns whether two expiry entries are equal. */
export function isSameExpiryEntry(a: RunSummary["expiry"] | null, b: ExpiryEntry | null): boolean {
  return a?.retentionClass === b?.retentionClass && a?.since === b?.since;
}

/** Returns whether a part contains data that payload retention removes. */
export function hasPayload(part: Opening | Closing | null): boolean {
  if (part === null) return false;
  const goal = "goal" in part ? part.goal : undefined;
  return (part.output ?? part.note ?? goal) !== undefined ||
    (part.metadata?.some(([, value]) => value !== null) ?? false);
}

/**
 * Removes the payload of a part: output, goal, note and the values of metadata. Cost and attribution
 * remain.
 */
export function withoutPayload<Part extends Opening | Closing>(part: Part): Part {
  const { metadata } = part;
  return {
    ...part,
    output: undefined,
    note: undefined,
    ...("goal" in part ? { goal: undefined } : {}),
    ...(metadata === undefined ? {} : { metadata: keysOnly(metadata) }),
    payloadRemoved: true,
  };
}

function keysOnly(metadata: Metadata): Metadata {
  return metadata.map(([key]) => [key, null]);
}

/** Returns how much of a run's payload is still stored, by its parts and its ledger. */
export function payloadState(
  parts: RunParts,
  ledger: Pick<EventLedger, "removed" | "oldestAt">,
): PayloadState {
  const both = [parts.opening, parts.closing];
  const removed = ledger.removed > 0 || both.some((part) => part?.payloadRemoved === true);
  if (!removed) return "whole";
  return ledger.oldestAt !== null || both.some(hasPayload) ? "partly_removed" : "removed";
}

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

/** Receipt of a deleted run. It replaces the run for as long as the run's id is refused. */
export interface RunDeletion {
  /** The run. */
  readonly run: RunId;
  /** Time of the deletion, unix milliseconds. */
  readonly deletedAt: number;
  /** Identifier of the deleting credential; null while an expired run is being removed. */
  readonly by: string | null;
  /** Number of events deleted with the run, not counting events that had expired before. */
  readonly events: number;
}

/**
 * Job that deletes all data of a customer stored before the job was created. After it is done, it is
 * the receipt.
 */
export interface CustomerDeletion extends TeamJob {
  /** The customer. */
  readonly customer: string;
  /** Number of runs deleted. */
  readonly runs: number;
  /** Number of events deleted with them. */
  readonly events: number;
  /** Number of days whose spend was deleted; it remained after their runs expired. */
  readonly days: number;
}
