/**
 * What a query of `GET /v1/runs` asks for.
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import { parseBounds } from "../core/page.ts";
import { type Parameters, parseChoice, parseQuery } from "../core/query.ts";
import { show } from "../core/text.ts";
import { picodollars } from "../pricing/money.ts";
import { FILTERS, parseFilters } from "./filters.ts";
import { parseInstant } from "../core/time.ts";
import { needsWindow, RUN_KINDS, RUN_TRAITS, type RunPosition, type RunsQuery } from "./list.ts";

/** Runs on one page of a list. */
export const RUNS_PER_PAGE = { default: 50, max: 1_000 } as const;

/** Hours that are searched when no index answers a query and it does not say from when. */
export const RUNS_WINDOW_HOURS = 24;

/** Characters of a text that is looked for in ids: as many as an id has. */
export const RUN_SEARCH_CHARS_MAX = 39;

/** A page of a list that is asked for. */
export interface RunsRequest {
  /** Which runs. */
  readonly query: RunsQuery;
  /** Whether the query begins at the default window rather than where it says. */
  readonly isWindowDefault: boolean;
  /** Behind whom; null for from the newest. */
  readonly after: RunPosition | null;
  /** How many at most. */
  readonly limit: number;
}

/** Where a list goes on: a place, and where its default window begins. */
export interface RunsCursor {
  /** Behind whom. */
  readonly after: RunPosition;
  /** Unix milliseconds; null where the window is not the default. */
  readonly from: number | null;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Dollars as a query writes them. */
const AMOUNT = /^\d{1,12}(\.\d{1,12})?$/;

const SEARCH = new RegExp(`^[0-9a-z_]{1,${RUN_SEARCH_CHARS_MAX}}$`);

/**
 * Reads a query.
 *
 * @param text the query without its question mark
 * @param nowMs unix milliseconds: where the default window ends
 * @param cursorOf reads a cursor; null when it is none
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
    const message = 'Parameter "provider" says whose "model" is meant: send that too';
    return refuse("invalid_field", message, "provider");
  }
  const kind = parseChoice(parameters, "kind", RUN_KINDS);
  if (!kind.ok) return kind;
  const has = parseChoice(parameters, "has", RUN_TRAITS);
  if (!has.ok) return has;
  const cost = parameters.get("min_cost_usd");
  if (cost !== undefined && !AMOUNT.test(cost)) {
    const message = 'Parameter "min_cost_usd" must be an amount of dollars such as 0.25: got ' +
      show(cost);
    return refuse("invalid_field", message, "min_cost_usd");
  }
  const q = parameters.get("q");
  if (q !== undefined && !SEARCH.test(q)) {
    const message = `Parameter "q" must be a run's id or 1 to ${RUN_SEARCH_CHARS_MAX} ` +
      `characters of one: got ${show(q)}`;
    return refuse("invalid_field", message, "q");
  }
  const minCost = picodollars(Number(cost ?? 0));
  return {
    ok: true,
    value: {
      ...labels.value,
      ...kind.value === undefined ? {} : { kind: kind.value },
      ...has.value === undefined ? {} : { has: has.value },
      // Every run costs nothing or more.
      ...minCost === 0n ? {} : { minCost },
      ...q === undefined ? {} : { q },
    },
  };
}

function parseRange(parameters: Parameters): Parsed<Pick<RunsQuery, "from" | "to">> {
  const from = parseBound(parameters, "from", 0);
  if (!from.ok) return from;
  // A day that is the last one is meant with all its hours.
  const to = parseBound(parameters, "to", DAY_MS);
  if (!to.ok) return to;
  if (from.value !== null && to.value !== null && from.value >= to.value) {
    return refuse("invalid_field", 'Parameter "from" must be before "to"', "from");
  }
  return { ok: true, value: { from: from.value, to: to.value } };
}

/** An instant, or a day and so many milliseconds. */
function parseBound(parameters: Parameters, name: string, ofDayMs: number): Parsed<number | null> {
  const sent = parameters.get(name);
  if (sent === undefined) return { ok: true, value: null };
  const isDay = !/t/i.test(sent);
  const ms = parseInstant(isDay ? `${sent}T00:00:00Z` : sent);
  if (ms !== null) return { ok: true, value: isDay ? ms + ofDayMs : ms };
  const message = `Parameter "${name}" must be a UTC day such as 2026-01-31, or an instant such ` +
    `as 2026-01-31T12:00:00Z: got ${show(sent)}`;
  return refuse("invalid_field", message, name);
}
