/**
 * Refusals: calls of a team that the service rejected. They are counted here so that the team can
 * find errors in its clients (R13); no other data of such a call is stored.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { Parsed } from "../core/errors.ts";
import { readQuery } from "../core/query.ts";
import { REFUSAL_HOURS, REFUSAL_LIMITS } from "../core/limits.ts";
import { HOUR_MS } from "../core/time.ts";

/** Placeholder for the fields of refusals beyond the combinations that are counted separately. */
export const OTHER = "(other)";

/** Properties by which refusals are grouped. */
export interface RefusalKind {
  /** Error code of the response. */
  readonly code: string;
  /** Field at fault; null for none. */
  readonly field: string | null;
  /** Agent of the call; null if it cannot be read. */
  readonly agent: string | null;
  /** `User-Agent` of the client; null if it sent none. */
  readonly userAgent: string | null;
}

/** One refused call. */
export interface Refusal extends RefusalKind {
  /** Time of the response, unix milliseconds. */
  readonly at: number;
  /** Error message of the response. */
  readonly message: string;
  /** `X-Request-Id` of the call. */
  readonly requestId: string;
  /** Method and path without ids. */
  readonly route: string;
}

/** Number of refused calls of one kind. */
export interface RefusalGroup extends RefusalKind {
  /** Number of refused calls. */
  readonly count: number;
}

/** Number of refused calls of one kind within an hour. */
export interface RefusalOfHour extends RefusalGroup {
  /** Start of the hour, unix milliseconds. */
  readonly hour: number;
}

/** Number of refused calls within an hour. */
export interface RefusalHour {
  /** Start of the hour, unix milliseconds. */
  readonly hour: number;
  /** Number of refused calls. */
  readonly count: number;
}

/** Stored refusals of a team. */
export interface RefusalReport {
  /** Counts by hour, latest first, without hours that had none. */
  readonly hours: readonly RefusalHour[];
  /** Latest refusals, newest first. */
  readonly latest: readonly Refusal[];
  /** Counts by kind and hour for the requested hours, latest hour first. */
  readonly groups: readonly RefusalOfHour[];
}

/** Store of refusals. */
export interface RefusalStore {
  /** Counts a refusal in memory. Copies the texts that it keeps. */
  note(team: TeamId, refusal: Refusal): void;
  /**
   * Reads a team's refusals, including refusals that are not written yet.
   *
   * @param hours number of hours whose kinds are read, including the current one; 0 for none
   */
  read(team: TeamId, nowMs: number, hours: number): Promise<RefusalReport>;
  /**
   * Writes the refusals counted since the last call.
   *
   * @throws {StorageUnavailable} when some could not be written; the next call retries them
   */
  flush(): Promise<void>;
}

/** Returns the start of an instant's hour. */
export function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}

/** Returns the start of the first of the last `hours` hours, including the current one. */
export function firstHour(nowMs: number, hours: number): number {
  return hourOf(nowMs) - (hours - 1) * HOUR_MS;
}

/** Returns the start of the first hour within retention. */
export function firstKeptHour(nowMs: number): number {
  return firstHour(nowMs, REFUSAL_LIMITS.days * 24);
}

/** Counts the refusals of the last hours, including the current one. */
export function countSince({ hours }: RefusalReport, nowMs: number, last: number): number {
  const first = firstHour(nowMs, last);
  return hours.reduce((sum, { hour, count }) => hour >= first ? sum + count : sum, 0);
}

/** Parses the query of `GET /v1/refusals` and returns its number of hours. */
export function parseRefusalsQuery(text: string): Parsed<number> {
  return readQuery(text, (query) => query.integer("hours", REFUSAL_HOURS));
}

/** Counts of refusals by name of their kind. */
export type RefusalGroups = Map<string, { readonly kind: RefusalKind; count: number }>;

/**
 * Adds refusals of one kind. Beyond the maximum number of kinds, only the code is kept.
 *
 * @returns the stored kind if it is new, else null
 */
export function addRefusals(
  groups: RefusalGroups,
  kind: RefusalKind,
  count: number,
  keep: (kind: RefusalKind) => RefusalKind = (same) => same,
): RefusalKind | null {
  const group = groups.get(nameOf(kind));
  if (group !== undefined) {
    group.count += count;
    return null;
  }
  if (groups.size >= REFUSAL_LIMITS.kindsPerHour && kind.field !== OTHER) {
    return addRefusals(groups, otherOf(kind), count, keep);
  }
  const stored = keep(kind);
  groups.set(nameOf(stored), { kind: stored, count });
  return stored;
}

/** Totals each kind over its hours, most frequent first. */
export function sumKinds(hours: readonly RefusalOfHour[]): RefusalGroup[] {
  const groups: RefusalGroups = new Map();
  // Frequent kinds first, so that rare ones are merged beyond the maximum number of kinds.
  const sorted = hours.toSorted((a, b) => b.count - a.count);
  for (const { count, code, field, agent, userAgent } of sorted) {
    addRefusals(groups, { code, field, agent, userAgent }, count);
  }
  return Array.from(groups.values(), ({ kind, count }) => ({ ...kind, count }))
    .sort((a, b) => b.count - a.count);
}

/** Returns the kind that aggregates all kinds with the same code. */
export function otherOf({ code }: RefusalKind): RefusalKind {
  return { code, field: OTHER, agent: OTHER, userAgent: OTHER };
}

function nameOf({ code, field, agent, userAgent }: RefusalKind): string {
  return `${code}\n${field ?? ""}\n${agent ?? ""}\n${userAgent ?? ""}`;
}
