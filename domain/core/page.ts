/**
 * Pages of the lists that administrators read: how long, and behind what they go on.
 *
 * @module
 */
import type { Parsed } from "./errors.ts";
import { cursorOf, integerOf, parseQuery } from "./query.ts";
import { ADMIN_PER_PAGE } from "./limits.ts";

/** A page that is asked for. */
export interface PageQuery<Place> {
  /** Entries on it at most. */
  readonly limit: number;
  /** Where the page before ended; null for the first. */
  readonly after: Place | null;
  /** All parameters that were sent. */
  readonly sent: ReadonlyMap<string, string>;
}

/**
 * Reads `limit` and `cursor` of a query.
 *
 * @param placeOf reads the place that a cursor stands for, or answers null
 */
export function parsePage<Place>(
  query: string,
  placeOf: (cursor: string) => Place | null,
): Parsed<PageQuery<Place>> {
  const parameters = parseQuery(query);
  if (!parameters.ok) return parameters;
  const sent = parameters.value;
  const limit = integerOf(sent, "limit", ADMIN_PER_PAGE);
  if (!limit.ok) return limit;
  const after = cursorOf(sent, "cursor", placeOf);
  return after.ok ? { ok: true, value: { limit: limit.value, after: after.value, sent } } : after;
}
