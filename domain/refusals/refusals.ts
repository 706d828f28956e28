/**
 * Refusals: calls of a team that the service rejected, and accepted calls of which it ignored a
 * parameter. They are kept so that the team can find errors in its clients (R13); no other data of
 * such a call is stored.
 *
 * @module
 */
import type { ErrorCode } from "../core/errors.ts";
import { REFUSAL_LIMITS } from "../core/limits.ts";
import { DAY_MS, dayOf } from "../core/time.ts";

/** Code of an accepted call with a parameter that was ignored (R24); it is no error code. */
export const IGNORED_PARAMETER = "ignored_parameter";

/** Error code of the response, or {@link IGNORED_PARAMETER}. */
export type RefusalCode = ErrorCode | typeof IGNORED_PARAMETER;

/** One refused call. */
export interface Refusal {
  /** Time of the response, unix milliseconds. */
  readonly at: number;
  /** Error code of the response. */
  readonly code: RefusalCode;
  /** Field at fault; null for none. */
  readonly field: string | null;
  /** Agent of the call; null if it cannot be read. */
  readonly agent: string | null;
  /** `User-Agent` of the client; null if it sent none. */
  readonly userAgent: string | null;
  /** Message of the response. */
  readonly message: string;
  /** `X-Request-Id` of the call. */
  readonly requestId: string;
  /** Method and path without ids. */
  readonly route: string;
}

/** Number of refused calls with one code on one UTC day. */
export interface RefusalCount {
  /** UTC day, `YYYY-MM-DD`. */
  readonly day: string;
  /** Error code of the responses. */
  readonly code: RefusalCode;
  /** Number of calls. */
  readonly count: number;
}

/** Refused calls of a team. */
export interface Refusals {
  /** Latest day first, most frequent code first within a day. */
  readonly counts: readonly RefusalCount[];
  /** Latest refusals, newest first. */
  readonly latest: readonly Refusal[];
}

/** Refusals of a team without any. */
export const NO_REFUSALS: Refusals = { counts: [], latest: [] };

/** Returns the first UTC day within retention. */
export function firstKeptDay(nowMs: number): string {
  return dayOf(nowMs - (REFUSAL_LIMITS.days - 1) * DAY_MS);
}

/** Adds refusals, and omits those that are too old or too many. */
export function addRefusals(older: Refusals, newer: Refusals, nowMs: number): Refusals {
  const first = firstKeptDay(nowMs);
  const sums = new Map<string, RefusalCount>();
  for (const { day, code, count } of [...older.counts, ...newer.counts]) {
    if (day < first) continue;
    const name = `${day} ${code}`;
    sums.set(name, { day, code, count: count + (sums.get(name)?.count ?? 0) });
  }
  return {
    counts: [...sums.values()].sort((a, b) =>
      a.day === b.day ? b.count - a.count : a.day < b.day ? 1 : -1
    ),
    latest: [...newer.latest, ...older.latest]
      .filter(({ at }) => dayOf(at) >= first)
      .sort((a, b) => b.at - a.at)
      .slice(0, REFUSAL_LIMITS.latest),
  };
}

/** Counts calls of today and yesterday (UTC); none if the last was more than 24 hours ago. */
export function recentRefusals(
  { counts, latest: [newest] }: Refusals,
  nowMs: number,
): { readonly rejected: number; readonly ignored: number } {
  const recent = { rejected: 0, ignored: 0 };
  if (newest === undefined || newest.at <= nowMs - DAY_MS) return recent;
  const yesterday = dayOf(nowMs - DAY_MS);
  for (const { day, code, count } of counts) {
    if (day >= yesterday) recent[code === IGNORED_PARAMETER ? "ignored" : "rejected"] += count;
  }
  return recent;
}
