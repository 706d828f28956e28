/**
 * The query of the run list: the parameters of `GET /v1/runs`, as a URL that is a saved view, and the
 * links that change one filter of it.
 */
import type { Problem } from "../../../domain/core/errors.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS, RUN_TRAITS, type RunTrait } from "../../../domain/runs/list.ts";
import { UNUSUAL_FIGURES } from "../../../domain/runs/list_filter.ts";
import { parseRunsQuery, type RunsRequest } from "../../../domain/runs/list_query.ts";
import { parseRunsCursor } from "../../api/runs/run_list.ts";
import type { Option } from "../components/form_fields.tsx";
import { durationText } from "../components/format.ts";
import { FAILURES } from "../components/run_state.tsx";
import { RUNS_PATH } from "../layout/paths.ts";

/** A filter with the values to choose from. */
export interface Filter {
  /** Name of the parameter. */
  readonly name: string;
  readonly label: string;
  /** Parameter of the values that a run must not have; absent if there is none. */
  readonly not?: string;
  /** True if a run may have one of several values. */
  readonly isMany?: true;
  /** Values, also with their texts; values of other filters are counted, or typed. */
  readonly values?: readonly (string | Option)[];
  /** Example of a typed value; absent if none can be typed. */
  readonly typed?: string;
}

/** Kinds of notes, the most important first: failures, reasons to look or to doubt, and others. */
export const NOTE_KINDS = ["bad", "warn", "soft"] as const;

/** A note about a run. */
export type RunNote = readonly [kind: typeof NOTE_KINDS[number], text: string];

export const TRAIT_NOTES: Readonly<Record<RunTrait, RunNote>> = {
  unpriced: ["warn", "a model without a price"],
  failed_check: ["bad", "a failed check"],
  judged: ["soft", "a judge's score"],
  late: ["soft", "events after its end"],
  orphan: ["warn", "no opening yet"],
};

const DURATIONS = [1_000, 10_000, 60_000, 600_000, 3_600_000]
  .map((ms): Option => [String(ms), durationText(ms)]);

const COSTS = ["0.01", "0.1", "1", "10"].map((usd): Option => [usd, `$${usd}`]);

const TRAITS = RUN_TRAITS.map((trait): Option => [trait, TRAIT_NOTES[trait][1]]);

/** Builds a filter of which a run may have one of several values, or none of some. */
const many = (name: string, label: string, more: Pick<Filter, "values" | "typed">): Filter => ({
  ...{ name, label, not: `not_${name}`, isMany: true, ...more },
});

/** The filters in the order of their menu. */
export const FILTERS: readonly Filter[] = [
  many("status", "Status", { values: ["running", ...FINISH_STATUSES] }),
  many("agent", "Agent", { typed: "support-crew" }),
  many("customer_id", "Customer", { typed: "acme" }),
  many("feature", "Feature", { typed: "refunds" }),
  many("model", "Model", { typed: "gpt-4o" }),
  { name: "provider", label: "Provider", typed: "openai" },
  many("metadata", "Metadata", { typed: "env=production" }),
  { name: "error", label: "Error contains", typed: "502" },
  { name: "q", label: "Id contains", typed: "0193af" },
  { name: "unusual", label: "Twice as usual", values: UNUSUAL_FIGURES },
  { name: "min_duration_ms", label: "Took at least", values: DURATIONS, typed: "milliseconds" },
  { name: "max_duration_ms", label: "Took at most", values: DURATIONS, typed: "milliseconds" },
  { name: "min_cost_usd", label: "Cost at least", values: COSTS, typed: "0.25" },
  { name: "min_score", label: "Score at least", isMany: true, typed: "helpful=0.5" },
  { name: "max_score", label: "Score at most", isMany: true, typed: "helpful=0.5" },
  { name: "has", label: "Has", values: TRAITS },
  { name: "kind", label: "Kind", values: RUN_KINDS },
  { name: "root", label: "Child runs", values: [["true", "hidden"], ["false", "as rows"]] },
];

/** Returns a refusal in the words of the page: it names a filter by its label. */
export function inLabels(problem: Problem): Problem {
  const filter = FILTERS.find(({ name }) => name === problem.field);
  if (filter === undefined) return problem;
  return { ...problem, message: problem.message.replace(/^Parameter "\w+"/, filter.label) };
}

/** Changes that remove the range of time. */
export const ANY_TIME = { since: null, from: null, to: null };

/** Changes that remove all filters, but not the range of time. */
export const NO_FILTERS = Object.fromEntries(
  [...FILTERS.flatMap(({ name, not = name }) => [name, not]), "text"].map((name) => [name, null]),
);

/** Names of the parameters that a link to another view keeps. */
const KEPT: ReadonlySet<string> = new Set(Object.keys({ ...NO_FILTERS, ...ANY_TIME, limit: null }));

const KNOWN: ReadonlySet<string> = new Set([...KEPT, "open", "cursor", "live", "seen"]);

/** Builds a set of filters that people look for first; each replaces the one before. */
function presetOf(name: string, status: readonly string[], unusual: readonly string[] = []) {
  return { name, filters: { status, unusual } };
}

export const PRESETS = [
  presetOf("All", []),
  presetOf("Failed", FAILURES),
  presetOf("Running", ["running"]),
  presetOf("Slow", [], ["slow"]),
  presetOf("Expensive", [], ["expensive"]),
];

/** Parameters of presets. */
const OF_PRESETS = ["status", "unusual"];

/** New values of parameters; null removes one. */
export type Changes = Readonly<Record<string, string | readonly string[] | null>>;

/** The known parameters of a list in their order; none is empty. */
export class ListQuery extends URLSearchParams {
  /** Reads the parameters as typed. */
  constructor(text: string) {
    super(
      [...new URLSearchParams(text)].filter(([name, value]) => KNOWN.has(name) && value !== ""),
    );
  }

  /** True if the list is live; only the first page can be. */
  get isLive(): boolean {
    return this.get("live") === "1" && !this.has("cursor");
  }

  /** True if any filter is set; a range of time is none. */
  get isFiltered(): boolean {
    return Object.keys(NO_FILTERS).some((name) => this.has(name));
  }

  /** True if only filters of presets are set. */
  get isOnlyPreset(): boolean {
    return Object.keys(NO_FILTERS).every((name) => OF_PRESETS.includes(name) || !this.has(name));
  }

  /** Returns whether the list has the filters of a preset, and no others of the same names. */
  isPreset({ filters }: typeof PRESETS[number]): boolean {
    return Object.entries(filters).every(([name, values]) =>
      this.getAll(name).toSorted().join() === values.toSorted().join()
    );
  }

  /** Returns the filters that are set, each with its parameter, but not the filters of a preset. */
  chips() {
    const hidden = PRESETS.some((preset) => this.isPreset(preset)) ? OF_PRESETS : [];
    return FILTERS.flatMap((filter) =>
      [filter.name, filter.not ?? ""].filter((name) => this.has(name) && !hidden.includes(name))
        .map((parameter) => ({ filter, parameter }))
    );
  }

  /** Returns the parameters of a list with the same filters, except those in `changes`. */
  changed(changes: Changes): URLSearchParams {
    // The list accepts a provider only together with a model.
    const all: Changes = changes["model"] === null ? { ...changes, provider: null } : changes;
    const pairs = [...this].filter(([name]) => KEPT.has(name) && !(name in all));
    const live = this.isLive && !("live" in all) ? [["live", "1"]] : [];
    const added = Object.entries(all).flatMap(([name, values]) =>
      [values ?? []].flat().map((value) => [name, value])
    );
    return new URLSearchParams([...pairs, ...live, ...added]);
  }

  /** Builds the path of a list with the same filters, except those in `changes`. */
  path(changes: Changes = {}, path = RUNS_PATH): string {
    const parameters = this.changed(changes);
    return parameters.size === 0 ? path : `${path}?${parameters}`;
  }

  /** Builds the path of a file with the runs of the list. */
  exportPath(form: "csv" | "ndjson"): string {
    const root = this.isFiltered ? {} : { root: "true" };
    return this.path({ limit: null, live: null, ...root }, `${RUNS_PATH}.${form}`);
  }

  /** Builds the path of a list in which a parameter has a value, or has it no longer. */
  togglePath(name: string, value: string, isMany: boolean, changes: Changes = {}): string {
    const values = this.getAll(name);
    const others = isMany ? values.filter((other) => other !== value) : [];
    const next = values.includes(value) ? others : [...others, value];
    return this.path({ ...changes, [name]: next.length === 0 ? null : next });
  }
}

/** Maximum runs of a page: each is read with its texts and its child runs. */
const ROWS_MAX = 200;

/** Parses the query of a list: without filters it has root runs only. */
export function parseListQuery(text: string, nowMs: number): RunsRequest {
  const { query, limit, ...page } = parseRunsQuery(text, nowMs, parseRunsCursor);
  // Without a filter, none could be for child runs.
  const root = new ListQuery(text).isFiltered ? {} : { isRoot: true as const };
  return { ...page, query: { ...query, ...root }, limit: Math.min(limit, ROWS_MAX) };
}
