/**
 * Retention: what of a run goes when (decisions 18 and 40).
 *
 * Payloads go part by part: each batch, opening and close has its own arrival. The record goes as a
 * whole, once nothing of it is younger than its horizon. Everything here follows from the parts.
 *
 * @module
 */
import type { Metadata } from "../runs/metadata.ts";
import type { EventLedger } from "../runs/ledger.ts";
import type { Closing, Opening, RunParts } from "../runs/run.ts";
import type { TierLimits } from "../teams/plans.ts";
import type { LedgerAges, PayloadState } from "../runs/payload.ts";

/** Days that parts without an opening are kept (decision 18). */
export const ORPHAN_DAYS = 7;

/** Days that a deleted run's id stays refused, and its receipt readable. */
export const TOMBSTONE_DAYS = 30;

/**
 * What a run is next looked at for: to lift the tombstone of a deleted one, to remove parts that have
 * no opening, payloads, or the record.
 */
export const RETENTION_CLASSES = ["tombstone", "orphan", "payload", "record"] as const;

/** One of {@link RETENTION_CLASSES}. */
export type RetentionClass = typeof RETENTION_CLASSES[number];

/** Where a run is filed: it is due so many days after `since`. */
export interface ExpiryEntry {
  /** What it will be looked at for. */
  readonly horizon: RetentionClass;
  /** Arrival of the part that decides, unix milliseconds. */
  readonly since: number;
}

const DAY_MS = 86_400_000;

/** What of a plan matters here. */
export type DaysOfPlan = Pick<TierLimits, "payloadDays" | "recordDays">;

/** Days that a plan keeps something; `Infinity` for ever. */
export function daysKept({ payloadDays, recordDays }: DaysOfPlan, horizon: RetentionClass): number {
  switch (horizon) {
    case "tombstone":
      return TOMBSTONE_DAYS;
    case "orphan":
      return Math.min(ORPHAN_DAYS, recordDays);
    case "payload":
      return payloadDays;
    case "record":
      return recordDays;
    default:
      return horizon satisfies never;
  }
}

/** The instant before which something is due, unix milliseconds; `-Infinity` when nothing ever is. */
export function cutoffOf(plan: DaysOfPlan, horizon: RetentionClass, nowMs: number): number {
  return nowMs - daysKept(plan, horizon) * DAY_MS;
}

/**
 * Where a run belongs now. Its oldest payload comes first; without any, what is left goes once its
 * latest part is too old.
 */
export function expiryEntryOf({ opening, closing }: RunParts, ledger: LedgerAges): ExpiryEntry {
  const payloads = [
    ...[opening, closing].flatMap((part) => hasPayload(part) ? [part?.receivedAt ?? 0] : []),
    ...ledger.oldestAt === null ? [] : [ledger.oldestAt],
  ];
  const since = payloads.length > 0
    ? Math.min(...payloads)
    : latestOf({ opening, closing }, ledger);
  if (opening === null) return { horizon: "orphan", since };
  return { horizon: payloads.length > 0 ? "payload" : "record", since };
}

/** Arrival of the latest part of a run, unix milliseconds. */
function latestOf({ opening, closing }: RunParts, { latestAt, scores }: LedgerAges): number {
  const arrivals = [opening?.receivedAt, closing?.receivedAt, latestAt, scores?.latestAt];
  return Math.max(...arrivals.map((at) => at ?? 0));
}

/**
 * What of a run has to go now: the payload that is too old, or all of it once nothing is younger than the
 * last horizon; null for nothing.
 */
export function dueOf(
  parts: RunParts,
  ledger: LedgerAges,
  plan: DaysOfPlan,
  nowMs: number,
): "payload" | "record" | null {
  const { horizon, since } = expiryEntryOf(parts, ledger);
  if (since >= cutoffOf(plan, horizon, nowMs)) return null;
  const last = parts.opening === null ? "orphan" : "record";
  return latestOf(parts, ledger) < cutoffOf(plan, last, nowMs) ? "record" : "payload";
}

/** Whether two runs, or two states of one, are filed alike. */
export function isSameExpiryEntry(a: ExpiryEntry | null, b: ExpiryEntry | null): boolean {
  return a?.horizon === b?.horizon && a?.since === b?.since;
}

/** Whether a part holds texts that the payload horizon is about. */
export function hasPayload(part: Opening | Closing | null): boolean {
  if (part === null) return false;
  const goal = "goal" in part ? part.goal : undefined;
  return (part.output ?? part.note ?? goal) !== undefined ||
    (part.metadata?.some(([, value]) => value !== null) ?? false);
}

/**
 * A part without its payload: output, goal and note are gone, and metadata keeps its keys alone. What
 * the run cost, and for whom, stays.
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

/** How much of a run's payload is still there, by its parts and its ledger. */
export function payloadState(
  parts: RunParts,
  ledger: Pick<EventLedger, "removed" | "oldestAt">,
): PayloadState {
  const both = [parts.opening, parts.closing];
  const removed = ledger.removed > 0 || both.some((part) => part?.payloadRemoved === true);
  if (!removed) return "whole";
  return ledger.oldestAt !== null || both.some(hasPayload) ? "partly_removed" : "removed";
}
