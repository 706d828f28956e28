/**
 * Page parameters of lists: length and cursor.
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

/** Length and start of a page. */
export interface PageBounds<Place> {
  /** Maximum number of entries. */
  readonly limit: number;
  /** End of the previous page; null for the first page. */
  readonly after: Place | null;
}

/** Page query of a list for administrators. */
export interface PageQuery<Place> extends PageBounds<Place> {
  /** All query parameters. */
  readonly sent: Parameters;
}

/** Reads `limit` and `cursor` of a list for administrators. */
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
 * @param placeOf decodes a cursor; returns null for an invalid one
 * @param prefix of the parameters' names
 */
export function parseBounds<Place>(
  parameters: Parameters,
  perPage: IntegerBounds,
  placeOf: (cursor: string) => Place | null,
  prefix = "",
): Parsed<PageBounds<Place>> {
  const limit = parseInteger(parameters, `${prefix}limit`, perPage);
  if (!limit.ok) return limit;
  const after = parsePlace(parameters, `${prefix}cursor`, placeOf);
  return after.ok ? { ok: true, value: { limit: limit.value, after: after.value } } : after;
}
