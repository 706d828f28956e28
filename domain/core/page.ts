/**
 * Pages of the lists that administrators read: how long, and behind what they go on.
 *
 * @module
 */
import { type Parsed, refuse } from "./errors.ts";
import { parseQuery } from "./query.ts";
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
  const text = sent.get("limit") ?? String(ADMIN_PER_PAGE.default);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > ADMIN_PER_PAGE.max) {
    const message = `"limit" must be an integer from 1 to ${ADMIN_PER_PAGE.max}`;
    return refuse("invalid_field", message, "limit");
  }
  const cursor = sent.get("cursor");
  if (cursor === undefined) return { ok: true, value: { limit, after: null, sent } };
  const after = placeOf(cursor);
  if (after !== null) return { ok: true, value: { limit, after, sent } };
  return refuse("invalid_field", '"cursor" must be the "cursor" of the page before', "cursor");
}
