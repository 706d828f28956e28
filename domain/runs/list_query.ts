/**
 * Parses the query of `GET /v1/runs`.
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import { type PageBounds, parseBounds } from "../core/page.ts";
import { type Parameters, parseChoice, parseQuery, refuseParameter } from "../core/query.ts";
import { picodollars } from "../pricing/money.ts";
import { FILTERS, parseFilters } from "./filters.ts";
import { parseInstant } from "../core/time.ts";
import { needsWindow, RUN_KINDS, RUN_TRAITS, type RunPosition, type RunsQuery } from "./list.ts";

/** Default and maximum runs per page. */
export const RUNS_PER_PAGE = { default: 50, max: 1_000 } as const;

/** Hours searched when no index answers a query and it has no start. */
export const RUNS_WINDOW_HOURS = 24;

/** Maximum characters of an id search: the length of an id. */
export const RUN_SEARCH_CHARS_MAX = 39;

/** A request for a page of a run list. */
export interface RunsRequest extends PageBounds<RunPosition> {
  /** Filters of the list. */
  readonly query: RunsQuery;
  /** True if the query starts at the default window because it names no range. */
  readonly isWindowDefault: boolean;
}

/** Continuation of a list: a position, and the start of its default window. */
export interface RunsCursor {
  /** Position after which the next page starts. */
  readonly after: RunPosition;
  /** Start of the default window, unix milliseconds; null if the window is not the default. */
  readonly from: number | null;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Dollar amount in a query. */
const AMOUNT = /^\d{1,12}(\.\d{1,12})?$/;

const SEARCH = new RegExp(`^[0-9a-z_]{1,${RUN_SEARCH_CHARS_MAX}}$`);

/**
 * Parses a query.
 *
 * @param text the query without its question mark
 * @param nowMs end of the default window, unix milliseconds
 * @param cursorOf parses a cursor; null if it is invalid
 */
export function parseRunsQuery(
  text: string,
  nowMs: number,
  cursorOf: (cursor: string) => RunsCursor | null,
): Parsed<RunsRequest> {
  const parameters = parseQuery(text);
  if (!parameters.ok) return parameters;
  const filters = parseRunFilters(parameters.value);
  if (!filters.ok) return filters;
  const range = parseRange(parameters.value);
  if (!range.ok) return range;
  const page = parseBounds(parameters.value, RUNS_PER_PAGE, cursorOf);
  if (!page.ok) return page;
  const { limit, after: cursor } = page.value;
  const query: RunsQuery = { ...filters.value, ...range.value };
  const isWindowDefault = needsWindow(query) && query.from === null && query.to === null;
  const from = isWindowDefault
    ? cursor?.from ?? Math.max(0, nowMs - RUNS_WINDOW_HOURS * HOUR_MS)
    : query.from;
  const after = cursor?.after ?? null;
  return { ok: true, value: { query: { ...query, from }, isWindowDefault, after, limit } };
}

function parseRunFilters(parameters: Parameters): Parsed<Omit<RunsQuery, "from" | "to">> {
  const labels = parseFilters(parameters, FILTERS);
  if (!labels.ok) return labels;
  if (labels.value.provider !== undefined && labels.value.model === undefined) {
    const message = 'Parameter "provider" needs "model": send both';
    return refuse("invalid_field", message, "provider");
  }
  const kind = parseChoice(parameters, "kind", RUN_KINDS);
  if (!kind.ok) return kind;
  const has = parseChoice(parameters, "has", RUN_TRAITS);
  if (!has.ok) return has;
  const cost = parameters.get("min_cost_usd");
  if (cost !== undefined && !AMOUNT.test(cost)) {
    return refuseParameter("min_cost_usd", "an amount of dollars such as 0.25", cost);
  }
  const q = parameters.get("q");
  if (q !== undefined && !SEARCH.test(q)) {
    const expected = `a run's id or 1 to ${RUN_SEARCH_CHARS_MAX} characters of one`;
    return refuseParameter("q", expected, q);
  }
  const minCost = picodollars(Number(cost ?? 0));
  return {
    ok: true,
    value: {
      ...labels.value,
      ...kind.value === undefined ? {} : { kind: kind.value },
      ...has.value === undefined ? {} : { has: has.value },
      // No run costs less than 0.
      ...minCost === 0n ? {} : { minCost },
      ...q === undefined ? {} : { q },
    },
  };
}

function parseRange(parameters: Parameters): Parsed<Pick<RunsQuery, "from" | "to">> {
  const from = parseBound(parameters, "from", 0);
  if (!from.ok) return from;
  // The last day is inclusive.
  const to = parseBound(parameters, "to", DAY_MS);
  if (!to.ok) return to;
  if (from.value !== null && to.value !== null && from.value >= to.value) {
    return refuse("invalid_field", 'Parameter "from" must be before "to"', "from");
  }
  return { ok: true, value: { from: from.value, to: to.value } };
}

/** Parses an instant, or a day plus `ofDayMs` milliseconds. */
function parseBound(parameters: Parameters, name: string, ofDayMs: number): Parsed<number | null> {
  const value = parameters.get(name);
  if (value === undefined) return { ok: true, value: null };
  const isDay = !/t/i.test(value);
  const ms = parseInstant(isDay ? `${value}T00:00:00Z` : value);
  if (ms !== null) return { ok: true, value: isDay ? ms + ofDayMs : ms };
  const expected = "a UTC day such as 2026-01-31, or an instant such as 2026-01-31T12:00:00Z";
  return refuseParameter(name, expected, value);
}
