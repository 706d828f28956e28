/**
 * Refusals: calls that a team sent and the service did not accept. Of such a call nothing is stored but
 * what is counted here, so that the team finds what its clients send wrong (R13).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { Parsed } from "../core/errors.ts";
import { parseInteger, parseQuery } from "../core/query.ts";
import { REFUSAL_HOURS, REFUSAL_LIMITS } from "../core/limits.ts";

/** Stands for the fields of refusals beyond the combinations that are counted apart. */
export const OTHER = "(other)";

const HOUR_MS = 3_600_000;

/** What a refused call has in common with others. */
export interface RefusalKind {
  /** The code that the caller was answered. */
  readonly code: string;
  /** The field at fault; null where there is none. */
  readonly field: string | null;
  /** The agent that the call is of; null where it cannot be read. */
  readonly agent: string | null;
  /** The client's `User-Agent`; null where it sent none. */
  readonly userAgent: string | null;
}

/** One refused call. */
export interface Refusal extends RefusalKind {
  /** When it was answered, unix milliseconds. */
  readonly at: number;
  /** What the caller was told. */
  readonly message: string;
  /** Its `X-Request-Id`. */
  readonly requestId: string;
  /** Method and path without ids. */
  readonly route: string;
}

/** Refused calls of one kind within an hour. */
export interface RefusalGroup extends RefusalKind {
  /** How many. */
  readonly count: number;
}

/** The same with the hour it is of. */
export interface RefusalOfHour extends RefusalGroup {
  /** Start of the hour, unix milliseconds. */
  readonly hour: number;
}

/** Refused calls of an hour. */
export interface RefusalHour {
  /** Its start, unix milliseconds. */
  readonly hour: number;
  /** How many. */
  readonly count: number;
}

/** What is known of a team's refusals. */
export interface RefusalReport {
  /** How many of each hour, the latest first, without hours that had none. */
  readonly hours: readonly RefusalHour[];
  /** The latest ones, newest first. */
  readonly latest: readonly Refusal[];
  /** Kinds by hour, the latest hour first; of the hours asked for. */
  readonly groups: readonly RefusalOfHour[];
}

/** Counts refusals and reads them. */
export interface RefusalStore {
  /** Counts a refusal in memory. Texts of it that are kept are copied. */
  note(team: TeamId, refusal: Refusal): void;
  /**
   * Reads a team's refusals, with those that are not written yet.
   *
   * @param hours hours whose kinds are read, the present one among them; 0 for none
   */
  read(team: TeamId, nowMs: number, hours: number): Promise<RefusalReport>;
  /**
   * Writes what was counted since the last time.
   *
   * @throws {StorageUnavailable} when some of it could not be written; it is tried again the next time
   */
  flush(): Promise<void>;
}

/** Returns the start of the hour that an instant is in. */
export function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}

/** Returns the start of the first of the last hours, the present one among them. */
export function firstHour(nowMs: number, hours: number): number {
  return hourOf(nowMs) - (hours - 1) * HOUR_MS;
}

/** Returns the start of the first hour that is still kept. */
export function firstKeptHour(nowMs: number): number {
  return firstHour(nowMs, REFUSAL_LIMITS.days * 24);
}

/** Counts the refusals of the last hours, the present one among them. */
export function countSince({ hours }: RefusalReport, nowMs: number, last: number): number {
  const first = firstHour(nowMs, last);
  return hours.reduce((sum, { hour, count }) => hour >= first ? sum + count : sum, 0);
}

/** Reads the hours that a query asks for. */
export function parseRefusalsQuery(query: string): Parsed<number> {
  const parameters = parseQuery(query);
  if (!parameters.ok) return parameters;
  return parseInteger(parameters.value, "hours", REFUSAL_HOURS);
}

/** Kinds of refusals by name, with their counts. */
export type RefusalGroups = Map<string, { readonly kind: RefusalKind; count: number }>;

/**
 * Adds refusals of one kind. Beyond the combinations that are counted apart only the code is kept.
 *
 * @returns the kind as it is kept when it is new, else null
 */
export function addRefusals(
  groups: RefusalGroups,
  kind: RefusalKind,
  count: number,
  keep: (kind: RefusalKind) => RefusalKind = (each) => each,
): RefusalKind | null {
  const known = groups.get(nameOf(kind));
  if (known !== undefined) {
    known.count += count;
    return null;
  }
  if (groups.size >= REFUSAL_LIMITS.kindsPerHour && kind.field !== OTHER) {
    return addRefusals(groups, otherOf(kind), count, keep);
  }
  const kept = keep(kind);
  groups.set(nameOf(kept), { kind: kept, count });
  return kept;
}

/** Adds up the hours of each kind, the most frequent first. */
export function sumKinds(hours: readonly RefusalOfHour[]): RefusalGroup[] {
  const groups: RefusalGroups = new Map();
  // Frequent kinds first: beyond what is counted apart, the rare ones become one.
  const sorted = hours.toSorted((a, b) => b.count - a.count);
  for (const { count, code, field, agent, userAgent } of sorted) {
    addRefusals(groups, { code, field, agent, userAgent }, count);
  }
  return Array.from(groups.values(), ({ kind, count }) => ({ ...kind, count }))
    .sort((a, b) => b.count - a.count);
}

/** Returns what stands for all kinds with the same code. */
export function otherOf({ code }: RefusalKind): RefusalKind {
  return { code, field: OTHER, agent: OTHER, userAgent: OTHER };
}

function nameOf({ code, field, agent, userAgent }: RefusalKind): string {
  return `${code}\n${field ?? ""}\n${agent ?? ""}\n${userAgent ?? ""}`;
}
