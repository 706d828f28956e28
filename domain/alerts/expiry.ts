/**
 * Retention of incidents: the error is kept as long as payloads, the rest as long as records
 * (decision 57).
 *
 * @module
 */
import type { TierLimits } from "../teams/plans.ts";
import { lastBadAt } from "./erasure.ts";
import type { Incident } from "./incident.ts";
import { DAY_MS } from "../core/time.ts";

/**
 * Longest time from one look at an incident to the next, milliseconds: a plan may keep data for a
 * shorter time than the one before.
 */
const LOOK_MS_MAX = 7 * DAY_MS;

/** Shortest such time while something is due that the clock of the sweep has not reached yet. */
const LOOK_MS_MIN = DAY_MS / 2;

/** The next due work of an incident. */
export interface IncidentExpiry {
  /** The error is removed, or all of the incident; null for nothing. */
  readonly due: "error" | "all" | null;
  /** Time of the next look, unix milliseconds. */
  readonly nextAt: number;
}

/** Returns when to look at a new incident first, unix milliseconds. */
export function firstIncidentLookAt(openedAt: number): number {
  return openedAt + LOOK_MS_MAX;
}

/**
 * Returns what of an incident has expired.
 *
 * @param nowMs time of the look, unix milliseconds
 * @param judgedMs time that ages are judged by: that of the sweep, which a wrong clock moves little
 */
export function expiryOf(
  incident: Pick<Incident, "openedAt" | "resolvedAt" | "timeline" | "error">,
  { payloadDays, recordDays }: Pick<TierLimits, "payloadDays" | "recordDays">,
  nowMs: number,
  judgedMs: number,
): IncidentExpiry {
  const { resolvedAt, error } = incident;
  const errorUntil = error === null ? Infinity : lastBadAt(incident) + payloadDays * DAY_MS;
  const allUntil = resolvedAt === null ? Infinity : resolvedAt + recordDays * DAY_MS;
  const due = allUntil < judgedMs ? "all" : errorUntil < judgedMs ? "error" : null;
  const left = due === "error" ? [allUntil] : [errorUntil, allUntil];
  const nextAt = Math.min(...left.map((at) => at + 1), nowMs + LOOK_MS_MAX);
  return { due, nextAt: Math.max(nextAt, nowMs + (nextAt > nowMs ? 0 : LOOK_MS_MIN)) };
}
