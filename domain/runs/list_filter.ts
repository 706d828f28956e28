/**
 * The filters of a run list, and those that only the parts of a run answer: its texts, labels and scores,
 * which lists also show. Its summary has none of them.
 *
 * @module
 */
import { isRunId, type RunId } from "../core/ids.ts";
import { type RawJson, rawMembers, rawOf } from "../core/raw_json.ts";
import type { Picodollars } from "../pricing/money.ts";
import {
  errorOf,
  mergeMetadata,
  type Metadata,
  type RunLabels,
  type RunParts,
  type RunStatus,
  type Score,
} from "./run.ts";
import type { RunKind, RunTrait } from "./cost.ts";
import { excerptOfString } from "../core/pretty_json.ts";
import { cutText, printable } from "../core/text.ts";

/** A value, or several of which one must match. */
export type OneOf<Value> = Value | readonly Value[];

/** Returns the values of a filter. */
export function valuesOf<Value>(wanted: OneOf<Value>): readonly Value[] {
  // The values are texts or null, never lists.
  return (Array.isArray(wanted) ? wanted : [wanted]) as readonly Value[];
}

/** Filters of a run list. An absent filter is not applied; null selects runs without the label. */
export interface RunsQuery {
  /** Agent's slug. */
  readonly agent?: OneOf<string | null>;
  /** Customer the cost is attributed to. */
  readonly customer?: OneOf<string | null>;
  /** Feature the cost is attributed to. */
  readonly feature?: OneOf<string | null>;
  /** Status. */
  readonly status?: OneOf<RunStatus>;
  /** Model that the run called. */
  readonly model?: OneOf<string>;
  /** Provider of the model. */
  readonly provider?: string | null;
  /** Values that the run must not have. */
  readonly not?:
    & {
      readonly [Name in keyof RunLabels | "model"]?: readonly (string | null)[];
    }
    & { readonly metadata?: readonly LabelValue[] };
  /** Kind of call that opened the run. */
  readonly kind?: RunKind;
  /** Trait the run must have. */
  readonly has?: RunTrait;
  /** True for runs without a parent, or whose parent is not stored. */
  readonly isRoot?: true;
  /** Figure that is at least twice the usual one of the run's agent. */
  readonly unusual?: UnusualFigure;
  /** Minimum cost in picodollars. */
  readonly minCost?: Picodollars;
  /** Minimum and maximum duration in milliseconds. */
  readonly duration?: { readonly min: number; readonly max: number };
  /** Labels of the run; of several values of one key, one must match. */
  readonly metadata?: readonly LabelValue[];
  /** Ranges of scores, each of which one score of the run must be in. */
  readonly scores?: readonly ScoreRange[];
  /** Part of the reason of its failure; case does not matter. */
  readonly error?: string;
  /** Part of its goal, output, error or id; case does not matter. */
  readonly text?: string;
  /** Ids of runs, of which the run must have one. */
  readonly ids?: readonly RunId[];
  /** Substring of the run's id. */
  readonly q?: string;
  /** Earliest sort instant, unix milliseconds; null for no bound. */
  readonly from: number | null;
  /** Exclusive upper bound of the sort instant, unix milliseconds; null for no bound. */
  readonly to: number | null;
}

/** A label of the metadata and its value as text. */
export type LabelValue = readonly [key: string, value: string];

/** A range of a score; true counts as 1 and false as 0. */
export interface ScoreRange {
  /** Name of the score. */
  readonly name: string;
  /** Least value. */
  readonly min: number;
  /** Greatest value. */
  readonly max: number;
}

/** Figures that are compared with the usual ones of the agent. */
export const UNUSUAL_FIGURES = ["slow", "expensive"] as const;

/** One of {@link UNUSUAL_FIGURES}. */
export type UnusualFigure = typeof UNUSUAL_FIGURES[number];

/** Returns whether a text may be a part of an id: nearly every id has a part of 3 characters. */
export function isPartOfId(text: string): boolean {
  return /^(?:run_(?:eu|us)_)?[0-9a-f]{4,32}$/.test(text);
}

/** Returns whether a query needs a filter that no index covers, so that runs must be scanned. */
export function needsWindow(query: RunsQuery): boolean {
  const { agent, customer, feature, q } = query;
  return q !== undefined && !isRunId(q) || agent === null || customer === null || feature === null;
}

/** Filters that an index answers. */
const INDEXED: ReadonlySet<string> = new Set<keyof RunsQuery>([
  ...["agent", "customer", "feature", "status", "model", "provider"] as const,
  ...["kind", "has", "minCost", "ids", "q", "from", "to"] as const,
]);

/**
 * Returns whether a query rejects runs that only their summaries or their parts tell apart. A filter
 * that is not known to have an index counts as such, so that its reads are bounded.
 */
export function needsScan(query: RunsQuery): boolean {
  const { agent, customer, feature } = query;
  return Object.entries(query).some(([name, filter]) =>
    filter !== undefined && !INDEXED.has(name)
  ) ||
    [agent, customer, feature].some((label) => Array.isArray(label) && label.includes(null));
}

/**
 * Returns whether a query searches: it scans runs, and not only for those without a parent, as each
 * list without filters does.
 */
export function isSearch({ isRoot: _, ...filters }: RunsQuery): boolean {
  return needsScan(filters);
}

/** Returns whether a query has filters that only the details of a run answer. */
export function needsDetails({ text, error, metadata, scores, not }: RunsQuery): boolean {
  return [text, error, metadata, scores, not?.metadata].some((filter) => filter !== undefined);
}

/** Returns whether a run passes the filters that only its details answer. */
export function matchesDetails(id: RunId, details: RunDetails, query: RunsQuery): boolean {
  const { text, error, metadata = [], scores = [], not } = query;
  const has = (label: LabelValue) =>
    details.metadata.some(([key, value]) => key === label[0] && String(value) === label[1]);
  return (text === undefined || hasText(id, details, text.toLowerCase())) &&
    (error === undefined || includes(details.error, error.toLowerCase())) &&
    [...Map.groupBy(metadata, ([key]) => key).values()].every((values) => values.some(has)) &&
    !(not?.metadata ?? []).some(has) && scores.every((range) => isWithin(details.scores, range));
}

function hasText(id: RunId, { goal, output, error }: RunDetails, wanted: string): boolean {
  return includes(goal, wanted) || includes(error, wanted) || isPartOfId(wanted) &&
      id.includes(wanted) ||
    output !== null && includes(plainText(output), wanted);
}

function includes(text: string | null, wanted: string): boolean {
  return text?.toLowerCase().includes(wanted) ?? false;
}

/** Returns JSON as people write its text: strings without quotes and escapes. */
function plainText(json: RawJson): string {
  if (json.startsWith('"')) return JSON.parse(json);
  return json.includes("\\u") ? rawOf(JSON.parse(json)) : json;
}

function isWithin(scores: readonly Score[], { name, min, max }: ScoreRange): boolean {
  return scores.some(([of, value]) => of === name && Number(value) >= min && Number(value) <= max);
}

/** Details of a run, which may be large. */
export interface RunDetails {
  /** Goal; null for none. */
  readonly goal: string | null;
  /** Output as sent; null for none. */
  readonly output: RawJson | null;
  /** Reason of a failure in the run's own words; null for none. */
  readonly error: string | null;
  /** Merged labels of the opening and the close. */
  readonly metadata: Metadata;
  /** Scores of the close and those added later. */
  readonly scores: readonly Score[];
}

/** Returns the details of a run. */
export function detailsOf(parts: RunParts, addedScores: readonly Score[]): RunDetails {
  const { opening, closing } = parts;
  return {
    goal: opening?.goal ?? null,
    output: closing?.output ?? opening?.output ?? null,
    error: errorOf(parts),
    metadata: mergeMetadata(opening?.metadata ?? null, closing?.metadata ?? null) ?? [],
    scores: [...closing?.scores ?? [], ...addedScores],
  };
}

/** The details of a run in a list: short texts. */
export interface RunLines extends Pick<RunDetails, "metadata" | "scores"> {
  /** First line of its goal; without one of its error, else of its output; null for none. */
  readonly name: string | null;
  /** First line of the reason of its failure; null for none. */
  readonly error: string | null;
  /** Seconds without a call after which it is closed; null for no limit. */
  readonly idleTimeoutSeconds: number | null;
}

/** Returns the details of a run as a list shows them. */
export function linesOf(parts: RunParts, addedScores: readonly Score[]): RunLines {
  const details = detailsOf(parts, addedScores);
  const { error, metadata, scores } = details;
  return {
    name: nameIn(details),
    error: firstLine(error),
    metadata,
    scores,
    idleTimeoutSeconds: parts.opening?.idleTimeoutSeconds ?? null,
  };
}

/** Returns the name of a run: the first line of its goal, else of its error, else of its output. */
export function nameIn(
  { goal, error, output }: Pick<RunDetails, "goal" | "error" | "output">,
): string | null {
  return firstLine(goal) ?? firstLine(error) ?? firstLine(textIn(output));
}

/** Returns the text of an output: a string, the first text of an object, or other JSON as it is. */
function textIn(output: RawJson | null): string | null {
  const texts = output?.startsWith("{") ? [...rawMembers(output).values()] : [];
  const text = texts.find((value) => value?.startsWith('"')) ?? output;
  return text?.startsWith('"') ? excerptOfString(text, LINE_CHARS_MAX).text : text;
}

/** Maximum characters of a line; further ones are cut. */
const LINE_CHARS_MAX = 300;

/** Returns the first line of a text that can be seen; null for none. */
function firstLine(text: string | null): string | null {
  const line = /[^\s\p{C}\p{Z}\p{M}].*/u.exec(text ?? "")?.[0].trimEnd() ?? null;
  return line === null ? null : cutText(printable(line), LINE_CHARS_MAX);
}
