/**
 * Retention rules: which data of a run expires when (decisions 18 and 40).
 *
 * Payloads expire separately for each batch, opening and close, by time of arrival. The record
 * expires all at once, when its latest part is older than the record's retention. The parts alone
 * determine both.
 *
 * @module
 */
import type { Metadata } from "../runs/metadata.ts";
import type { EventLedger, LedgerAges } from "../runs/ledger.ts";
import type { PayloadState } from "../runs/record.ts";
import type { Closing, Opening, RunParts } from "../runs/run.ts";
import type { RunSummary } from "../runs/summary.ts";
import type { TierLimits } from "../teams/plans.ts";
import { DAY_MS } from "../core/time.ts";

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
