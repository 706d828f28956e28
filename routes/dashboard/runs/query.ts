/**
 * The query of the run list: the parameters of `GET /v1/runs`, as a URL that is a saved view, and the
 * links that change one filter of it.
 */
import type { Parsed } from "../../../domain/core/errors.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS, RUN_TRAITS, type RunTrait } from "../../../domain/runs/list.ts";
import { UNUSUAL_FIGURES } from "../../../domain/runs/list_filter.ts";
import { parseRunsQuery, type RunsRequest } from "../../../domain/runs/list_query.ts";
import { FAILURES } from "../components/run_columns.tsx";
import { RUNS_PATH } from "../layout/paths.ts";
import { parseRunsCursor } from "../../api/runs/run_list.ts";

/** A filter with the values to choose from. */
export interface Filter {
  /** Name of the parameter. */
  readonly name: string;
  readonly label: string;
  /** Parameter of the values that a run must not have; absent if there is none. */
  readonly not?: string;
  /** True if a run may have one of several values. */
  readonly isMany?: true;
  /** Values and their texts; those of other filters are counted, or typed. */
  readonly values?: readonly (readonly [value: string, text: string])[];
  /** Example of a typed value; absent if none can be typed. */
  readonly typed?: string;
}

/** Builds values that are their own texts. */
function plain(values: readonly string[]): NonNullable<Filter["values"]> {
  return values.map((value) => [value, value]);
}

const TRAIT_LABELS: Readonly<Record<RunTrait, string>> = {
  unpriced: "a model without a price",
  failed_check: "a failed check",
  late: "events after its end",
  orphan: "no opening yet",
};

const LONG: NonNullable<Filter["values"]> = [
  ["1000", "1 s"],
  ["10000", "10 s"],
  ["60000", "1 min"],
  ["600000", "10 min"],
  ["3600000", "1 h"],
];

const many = (name: string, label: string, typed: string): Filter => ({
  ...{ name, label, typed, not: `not_${name}`, isMany: true },
});

/** The filters in the order of their menu. */
export const FILTERS: readonly Filter[] = [
  {
    name: "status",
    label: "Status",
    not: "not_status",
    isMany: true,
    values: plain(["running", ...FINISH_STATUSES]),
  },
  many("agent", "Agent", "support-crew"),
  many("customer_id", "Customer", "acme"),
  many("feature", "Feature", "refunds"),
  many("model", "Model", "gpt-4o"),
  { name: "provider", label: "Provider", typed: "openai" },
  many("metadata", "Metadata", "env=production"),
  { name: "error", label: "Error contains", typed: "502" },
  { name: "q", label: "Id contains", typed: "0193af" },
  { name: "unusual", label: "Twice as usual", values: plain(UNUSUAL_FIGURES) },
  { name: "min_duration_ms", label: "Took at least", values: LONG, typed: "milliseconds" },
  { name: "max_duration_ms", label: "Took at most", values: LONG, typed: "milliseconds" },
  {
    name: "min_cost_usd",
    label: "Cost at least",
    values: ["0.01", "0.1", "1", "10"].map((usd) => [usd, `$${usd}`]),
    typed: "0.25",
  },
  { name: "min_score", label: "Score at least", isMany: true, typed: "helpful=0.5" },
  { name: "max_score", label: "Score at most", isMany: true, typed: "helpful=0.5" },
  { name: "has", label: "Has", values: RUN_TRAITS.map((trait) => [trait, TRAIT_LABELS[trait]]) },
  { name: "kind", label: "Kind", values: plain(RUN_KINDS) },
  { name: "root", label: "Child runs", values: [["true", "hidden"], ["false", "as rows"]] },
];

/** Parameters of the range of time. */
export const OF_TIME = ["since", "from", "to"] as const;

/** Names of the parameters that select runs. */
const SELECTING = [
  ...FILTERS.flatMap(({ name, not = name }) => [name, not]),
  "text",
  ...OF_TIME,
];

/** Names of the parameters that a link to another view keeps. */
const KEPT: ReadonlySet<string> = new Set([...SELECTING, "limit"]);

const KNOWN: ReadonlySet<string> = new Set([...KEPT, "open", "cursor", "live", "seen", "shown"]);

/** Known parameters of a request in their order; none is empty. */
export type ListQuery = URLSearchParams;

/** Reads the parameters as typed. */
export function readListQuery(text: string): ListQuery {
  const pairs = [...new URLSearchParams(text)];
  return new URLSearchParams(pairs.filter(([name, value]) => KNOWN.has(name) && value !== ""));
}

/** Maximum runs of a page: each is read with its texts and its child runs. */
const ROWS_MAX = 200;

/** Parses the query of a list: without filters it has root runs only. */
export function parseListQuery(text: string, nowMs: number): Parsed<RunsRequest> {
  const request = parseRunsQuery(text, nowMs, parseRunsCursor);
  if (!request.ok) return request;
  const { query, limit, ...page } = request.value;
  const root = isRootOnly(readListQuery(text)) ? { isRoot: true as const } : {};
  const value = { ...page, query: { ...query, ...root }, limit: Math.min(limit, ROWS_MAX) };
  return { ok: true, value };
}

/** Returns whether a list has root runs only, because no filter could be for their child runs. */
function isRootOnly(query: ListQuery): boolean {
  return !query.has("root") && !isFiltered(query);
}

/** Returns whether any filter is set; a range of time is none. */
export function isFiltered(query: ListQuery): boolean {
  return hasOthers(query, OF_TIME);
}

/** Returns whether no filter is set but those of presets. */
export function isOnlyPreset(query: ListQuery): boolean {
  return !hasOthers(query, [...OF_TIME, "status", "unusual"]);
}

function hasOthers(query: ListQuery, names: readonly string[]): boolean {
  return SELECTING.some((name) => query.has(name) && !names.includes(name));
}

/** Returns whether the list is live; only the first page can be. */
export function isLiveList(query: ListQuery): boolean {
  return query.get("live") === "1" && !query.has("cursor");
}

/** New values of parameters; null removes one. */
export type Changes = Readonly<Record<string, string | readonly string[] | null>>;

/** Returns the parameters of a list with the same filters, except those in `changes`. */
export function changed(query: ListQuery, changes: Changes = {}): URLSearchParams {
  // The list accepts a provider only together with a model.
  const all: Changes = changes["model"] === null ? { ...changes, provider: null } : changes;
  const pairs = [...query].filter(([name]) => KEPT.has(name) && !(name in all));
  const live = isLiveList(query) && !("live" in all) ? [["live", "1"]] : [];
  const added = Object.entries(all).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => [name, value])
  );
  return new URLSearchParams([...pairs, ...live, ...added]);
}

/** Builds the path of a list with the same filters, except those in `changes`. */
export function listPath(query: ListQuery, changes: Changes = {}): string {
  return withQuery(RUNS_PATH, changed(query, changes));
}

/** Builds the path of a file with the runs of a list. */
export function exportPath(query: ListQuery, form: "csv" | "ndjson"): string {
  const root = isRootOnly(query) ? { root: "true" } : {};
  return withQuery(`${RUNS_PATH}.${form}`, changed(query, { limit: null, live: null, ...root }));
}

function withQuery(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Builds the path of a list in which a value is added to a filter, or removed from it. */
export function togglePath(query: ListQuery, name: string, value: string, isMany = true): string {
  const values = query.getAll(name);
  const isSet = values.includes(value);
  const others = isMany ? values.filter((other) => other !== value) : [];
  const next = isSet ? others : [...others, value];
  return listPath(query, { [name]: next.length === 0 ? null : next });
}

/** A set of filters that people look for first. */
export interface Preset {
  readonly name: string;
  /** Statuses, or an unusual figure. */
  readonly filters: Readonly<Record<"status" | "unusual", readonly string[]>>;
}

const NO_PRESET = { status: [], unusual: [] };

/** Presets; each replaces the one before. */
export const PRESETS: readonly Preset[] = [
  { name: "All", filters: NO_PRESET },
  { name: "Failed", filters: { ...NO_PRESET, status: FAILURES } },
  { name: "Running", filters: { ...NO_PRESET, status: ["running"] } },
  { name: "Slow", filters: { ...NO_PRESET, unusual: ["slow"] } },
  { name: "Expensive", filters: { ...NO_PRESET, unusual: ["expensive"] } },
];

/** Returns whether a list has the filters of a preset. */
export function isPreset(query: ListQuery, { filters }: Preset): boolean {
  return Object.entries(filters).every(([name, values]) =>
    query.getAll(name).toSorted().join() === values.toSorted().join()
  );
}

/** Returns whether a filter that is set is part of the preset that the list has. */
export function isInPreset(query: ListQuery, name: string): boolean {
  return PRESETS.some((preset) =>
    isPreset(query, preset) &&
    Object.entries(preset.filters).some((filter) => filter[0] === name && filter[1].length > 0)
  );
}
