/**
 * Parses the query of `GET /v1/runs`.
 *
 * @module
 */
import type { Parsed } from "../core/errors.ts";
import { type PageBounds, type Query, readQuery, refuseParameter } from "../core/query.ts";
import { show } from "../core/text.ts";
import { picodollars } from "../pricing/money.ts";
import { FILTERS, readFilters } from "./filters.ts";
import { DAY_MS, HOUR_MS, parseInstant } from "../core/time.ts";
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
  return readQuery(text, (parameters) => {
    const filters = readRunFilters(parameters);
    const range = readRange(parameters);
    const { limit, after: cursor } = parameters.page(cursorOf, RUNS_PER_PAGE);
    const query: RunsQuery = { ...filters, ...range };
    const isWindowDefault = needsWindow(query) && query.from === null && query.to === null;
    const from = isWindowDefault
      ? cursor?.from ?? Math.max(0, nowMs - RUNS_WINDOW_HOURS * HOUR_MS)
      : query.from;
    return { query: { ...query, from }, isWindowDefault, after: cursor?.after ?? null, limit };
  });
}

function readRunFilters(query: Query): Omit<RunsQuery, "from" | "to"> {
  const labels = readFilters(query, FILTERS);
  if (labels.provider !== undefined && labels.model === undefined) {
    refuseParameter("provider", 'Parameter "provider" needs "model": send both');
  }
  const kind = query.choice("kind", RUN_KINDS);
  const has = query.choice("has", RUN_TRAITS);
  const cost = query.text("min_cost_usd");
  if (cost !== undefined && !AMOUNT.test(cost)) {
    const message = 'Parameter "min_cost_usd" must be an amount of dollars such as 0.25: got ' +
      show(cost);
    refuseParameter("min_cost_usd", message);
  }
  const q = query.text("q");
  if (q !== undefined && !SEARCH.test(q)) {
    const message = `Parameter "q" must be a run's id or 1 to ${RUN_SEARCH_CHARS_MAX} ` +
      `characters of one: got ${show(q)}`;
    refuseParameter("q", message);
  }
  const minCost = picodollars(Number(cost ?? 0));
  return {
    ...labels,
    ...kind === undefined ? {} : { kind },
    ...has === undefined ? {} : { has },
    // No run costs less than 0.
    ...minCost === 0n ? {} : { minCost },
    ...q === undefined ? {} : { q },
  };
}

function readRange(query: Query): Pick<RunsQuery, "from" | "to"> {
  const from = readBound(query, "from", 0);
  // The last day is inclusive.
  const to = readBound(query, "to", DAY_MS);
  if (from !== null && to !== null && from >= to) {
    refuseParameter("from", 'Parameter "from" must be before "to"');
  }
  return { from, to };
}

/** Reads an instant, or a day plus `ofDayMs` milliseconds. */
function readBound(query: Query, name: string, ofDayMs: number): number | null {
  const value = query.text(name);
  if (value === undefined) return null;
  const isDay = !/t/i.test(value);
  const ms = parseInstant(isDay ? `${value}T00:00:00Z` : value);
  if (ms !== null) return isDay ? ms + ofDayMs : ms;
  const message = `Parameter "${name}" must be a UTC day such as 2026-01-31, or an instant such ` +
    `as 2026-01-31T12:00:00Z: got ${show(value)}`;
  return refuseParameter(name, message);
}
