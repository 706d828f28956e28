/**
 * Pages of lists: their length, and where they begin.
 *
 * @module
 */
import type { Parsed } from "./errors.ts";
import {
  type IntegerBounds,
  type Parameters,
  parseInteger,
  parsePlace,
  parseQuery,
} from "./query.ts";
import { ADMIN_PER_PAGE } from "./limits.ts";

/** Length and beginning of a page. */
export interface PageBounds<Place> {
  /** Maximum number of entries. */
  readonly limit: number;
  /** End of the page before; null for the first page. */
  readonly after: Place | null;
}

/** A page of a list that administrators read. */
export interface PageQuery<Place> extends PageBounds<Place> {
  /** All parameters of the query. */
  readonly sent: Parameters;
}

/** Reads `limit` and `cursor` of a query that administrators send. */
export function parsePage<Place>(
  query: string,
  placeOf: (cursor: string) => Place | null,
): Parsed<PageQuery<Place>> {
  const parameters = parseQuery(query);
  if (!parameters.ok) return parameters;
  const sent = parameters.value;
  const page = parseBounds(sent, ADMIN_PER_PAGE, placeOf);
  return page.ok ? { ok: true, value: { ...page.value, sent } } : page;
}

/**
 * Reads `limit` and `cursor`.
 *
 * @param placeOf reads the place that a cursor stands for, or returns null
 */
export function parseBounds<Place>(
  parameters: Parameters,
  perPage: IntegerBounds,
  placeOf: (cursor: string) => Place | null,
): Parsed<PageBounds<Place>> {
  const limit = parseInteger(parameters, "limit", perPage);
  if (!limit.ok) return limit;
  const after = parsePlace(parameters, "cursor", placeOf);
  return after.ok ? { ok: true, value: { limit: limit.value, after: after.value } } : after;
}
