/**
 * Parses the query of `GET /v1/runs`.
 *
 * @module
 */
import { type PageBounds, Query, refuseParameter } from "../core/query.ts";
import { show } from "../core/text.ts";
import { picodollars } from "../pricing/money.ts";
import { type FilterName, FILTERS, readValues, type SpendFilters } from "./filters.ts";
import { isRunId } from "../core/ids.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import { isText } from "../core/rules.ts";
import { DAY_MS, HOUR_MS, parseInstant } from "../core/time.ts";
import { RUN_KINDS, RUN_TRAITS, type RunPosition } from "./list.ts";
import { needsWindow, type RunsQuery, UNUSUAL_FIGURES } from "./list_filter.ts";

/** Default and maximum runs per page. */
export const RUNS_PER_PAGE = { default: 50, max: 1_000 } as const;

/** Hours searched when no index answers a query and it has no start. */
export const RUNS_WINDOW_HOURS = 24;

/** Periods up to now that a list can be limited to. */
export const RUNS_SINCE = ["1h", "24h", "7d", "30d"] as const;

const SINCE_MS = { "1h": HOUR_MS, "24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS } as const;

/** Maximum runs that a query may name by their ids. */
export const RUN_IDS_MAX = 200;

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
): RunsRequest {
  const parameters = new Query(text);
  const filters = readRunFilters(parameters);
  const range = readRange(parameters, nowMs);
  const { limit, after: cursor } = parameters.page(cursorOf, RUNS_PER_PAGE);
  const query: RunsQuery = { ...filters, ...range };
  const isWindowDefault = needsWindow(query) && query.from === null && query.to === null;
  const from = isWindowDefault
    ? cursor?.from ?? Math.max(0, nowMs - RUNS_WINDOW_HOURS * HOUR_MS)
    : query.from;
  return { query: { ...query, from }, isWindowDefault, after: cursor?.after ?? null, limit };
}

function readRunFilters(query: Query): Omit<RunsQuery, "from" | "to"> {
  const labels = readLabels(query, "");
  if (labels.provider !== undefined && labels.model === undefined) {
    refuseParameter("provider", 'Parameter "provider" needs "model": send both');
  }
  const kind = query.choice("kind", RUN_KINDS);
  const has = query.choice("has", RUN_TRAITS);
  const root = query.choice("root", ["true", "false"]);
  const unusual = query.choice("unusual", UNUSUAL_FIGURES);
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
  const { provider: _, ...unwanted } = readLabels(query, "not_");
  const not = { ...unwanted, ...readMetadata(query, "not_metadata") };
  return {
    ...only(labels),
    ...kind === undefined ? {} : { kind },
    ...has === undefined ? {} : { has },
    ...root === "true" ? { isRoot: true } : {},
    ...unusual === undefined ? {} : { unusual },
    // No run costs less than 0.
    ...minCost === 0n ? {} : { minCost },
    ...readDuration(query),
    ...readMetadata(query, "metadata"),
    ...readScores(query),
    ...readText(query, "error"),
    ...readText(query, "text"),
    ...readIds(query),
    ...q === undefined ? {} : { q },
    ...Object.keys(not).length === 0 ? {} : { not },
  };
}

function readIds(query: Query): Pick<RunsQuery, "ids"> {
  const texts = query.texts("run");
  const ids = texts.filter(isRunId);
  if (ids.length < texts.length || ids.length > RUN_IDS_MAX) {
    refuseParameter("run", `Parameter "run" must be a run's id, at most ${RUN_IDS_MAX} times`);
  }
  return ids.length === 0 ? {} : { ids };
}

/** Reads the values of the label filters, whose parameters begin with a prefix. */
function readLabels(query: Query, prefix: "" | "not_") {
  const values = FILTERS.flatMap((filter) => {
    const read = readValues(query, filter, prefix + filter.parameter);
    return read.length === 0 ? [] : [[filter.filter, read] as const];
  });
  return Object.fromEntries(values) as Partial<Record<FilterName, readonly (string | null)[]>>;
}

/** Returns label filters in which one value stands for itself. */
function only(labels: ReturnType<typeof readLabels>): SpendFilters {
  const values = Object.entries(labels).map(([name, values]) =>
    [name, values.length === 1 ? values[0] : values] as const
  );
  // The texts were checked; the record's type cannot express it.
  return Object.fromEntries(values) as SpendFilters;
}

function readDuration(query: Query): Pick<RunsQuery, "duration"> {
  const [min, max] = ["min_duration_ms", "max_duration_ms"].map((name) => {
    const text = query.text(name);
    return text === undefined ? null : readNumber(name, text);
  });
  return min === null && max === null ? {} : { duration: { min: min ?? 0, max: max ?? Infinity } };
}

/** Reads labels, each as `key=value`. */
function readMetadata(
  query: Query,
  name: "metadata" | "not_metadata",
): Pick<RunsQuery, "metadata"> {
  const metadata = query.texts(name).map((text) => readPair(name, text));
  return metadata.length === 0 ? {} : { metadata };
}

/** Reads bounds of scores, each as `name=number`. */
function readScores(query: Query): Pick<RunsQuery, "scores"> {
  const scores = (["min", "max"] as const).flatMap((bound) => {
    const parameter = `${bound}_score`;
    return query.texts(parameter).map((text) => {
      const [name, value] = readPair(parameter, text);
      return { name, min: -Infinity, max: Infinity, [bound]: readNumber(parameter, value) };
    });
  });
  const ranges = [...Map.groupBy(scores, ({ name }) => name).values()].map((bounds) =>
    bounds.reduce((a, b) => ({
      name: a.name,
      min: Math.max(a.min, b.min),
      max: Math.min(a.max, b.max),
    }))
  );
  return ranges.length === 0 ? {} : { scores: ranges };
}

function readText(
  query: Query,
  name: "text" | "error",
): { readonly [Name in typeof name]?: string } {
  const text = query.text(name);
  if (text === undefined) return {};
  if (isText(text, LABEL_CHARS_MAX)) return { [name]: text };
  const message = `Parameter "${name}" must have at most ${LABEL_CHARS_MAX} characters`;
  return refuseParameter(name, message);
}

function readPair(parameter: string, text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  const message = `Parameter "${parameter}" must be a name, "=" and a value: got ${show(text)}`;
  return refuseParameter(parameter, message);
}

function readNumber(parameter: string, text: string): number {
  const number = /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : null;
  if (number !== null) return number;
  return refuseParameter(parameter, `Parameter "${parameter}" needs a number: got ${show(text)}`);
}

function readRange(query: Query, nowMs: number): Pick<RunsQuery, "from" | "to"> {
  const since = query.choice("since", RUNS_SINCE);
  const from = readBound(query, "from", 0) ??
    (since === undefined ? null : nowMs - SINCE_MS[since]);
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
