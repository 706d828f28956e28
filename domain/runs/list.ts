/**
 * The list of runs: its filters and its rows.
 *
 * @module
 */
import type { Picodollars } from "../pricing/money.ts";
import { isRunId, type RunId } from "../core/ids.ts";
import { type RunSummary, summarize, sumsOfSummary } from "./summary.ts";
import { runCostOf, type RunRecord } from "./record.ts";
import type { SpendFilters } from "./filters.ts";
import { type RunHead, unpricedUsageOf } from "./cost.ts";
import { closedByOf } from "./idle.ts";
import type { RunKind, RunTrait } from "./flags.ts";

export { RUN_KINDS, RUN_TRAITS, type RunKind, type RunTrait } from "./flags.ts";

/** Filters of a run list. An absent filter is not applied; null selects runs without the label. */
export interface RunsQuery extends SpendFilters {
  /** Kind of call that opened the run. */
  readonly kind?: RunKind;
  /** Trait the run must have. */
  readonly has?: RunTrait;
  /** Minimum cost in picodollars. */
  readonly minCost?: Picodollars;
  /** Substring of the run's id. */
  readonly q?: string;
  /** Earliest sort instant, unix milliseconds; null for no bound. */
  readonly from: number | null;
  /** Exclusive upper bound of the sort instant, unix milliseconds; null for no bound. */
  readonly to: number | null;
}

/**
 * A position in the list, which is sorted by start, newest first, then by id. A run that starts far
 * in the future is sorted by its arrival (R14). A run without an opening is sorted by the arrival
 * of its first part.
 */
export interface RunPosition {
  /** Sort instant, unix milliseconds. */
  readonly at: number;
  /** The run. */
  readonly run: RunId;
}

/** A run as a list row: the fields of the full record without the large ones. */
export interface RunListRow extends
  Pick<
    RunRecord,
    | ("id" | "kind" | "agent" | "status" | "closedBy" | "startedAt" | "finishedAt" | "receivedAt")
    | ("durationMs" | "customerId" | "feature" | "cost" | "usage" | "flags")
  > {
  /** Sort instant, unix milliseconds. */
  readonly sortedAt: number;
  /** Traits the run can be filtered by. */
  readonly has: readonly RunTrait[];
}

/** A page of the list. */
export interface RunListPage {
  /** Runs, newest first. */
  readonly rows: readonly RunListRow[];
  /**
   * Position after which the next page starts; null at the end. A page with a next one may be
   * short.
   */
  readonly next: RunPosition | null;
  /**
   * Instant the search reached, unix milliseconds, if the page is short because too many runs had
   * to be skipped; null if the page is full or the last one.
   */
  readonly searchedTo: number | null;
}

/** Returns the current row of a run, from its parts and its summary. */
export function listRowOf(id: RunId, head: RunHead, summary: RunSummary | null): RunListRow {
  const row = summedRowOf(id, summarize(head, summary));
  return { ...row, cost: runCostOf(head, summary) };
}

/** Returns the row of a run as of its summary. */
export function summedRowOf(id: RunId, summary: RunSummary): RunListRow {
  const { seen, revision, times, listed, shown } = summary;
  const { labels, models, calls, cost, reported, ...usage } = sumsOfSummary(summary);
  const { finishedAt, durationMs, toolCalls, logs, errors } = shown;
  const { events, inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    id,
    kind: listed.kind,
    agent: labels.agent,
    status: labels.status,
    closedBy: seen.closing ? closedByOf(seen) : null,
    startedAt: times?.startedAt ?? null,
    sortedAt: listed.at,
    finishedAt,
    receivedAt: shown.openedAt ?? listed.at,
    durationMs,
    customerId: labels.customer,
    feature: labels.feature,
    cost: {
      amount: cost,
      models,
      calls,
      ...reported === undefined ? {} : { reported },
      unpricedModels: unpricedUsageOf(models),
      flags: shown.costFlags,
      state: seen.closing ? "final" : "pending",
      revision,
    },
    usage: {
      events,
      llmCalls: calls,
      toolCalls,
      logs,
      errors,
      inputTokens,
      outputTokens,
      cachedInputTokens,
    },
    flags: shown.flags,
    has: listed.has,
  };
}

/**
 * Returns whether a run matches a query. The run may have changed since the index returned it, and
 * no index covers every filter.
 */
export function isListed(row: RunListRow, query: RunsQuery): boolean {
  const is = <T>(wanted: T | undefined, value: T) => wanted === undefined || wanted === value;
  return row.sortedAt >= (query.from ?? -Infinity) && row.sortedAt < (query.to ?? Infinity) &&
    is(query.agent, row.agent) && is(query.status, row.status) && is(query.kind, row.kind) &&
    is(query.customer, row.customerId) && is(query.feature, row.feature) &&
    (query.has === undefined || row.has.includes(query.has)) &&
    row.cost.amount >= (query.minCost ?? 0n) && row.id.includes(query.q ?? "") &&
    (query.model === undefined ||
      row.cost.models.some(({ model, provider }) =>
        model === query.model && is(query.provider, provider)
      ));
}

/** Returns whether a query needs a filter that no index covers, so that runs must be scanned. */
export function needsWindow(query: RunsQuery): boolean {
  const { agent, customer, feature, q } = query;
  const isPartOfId = q !== undefined && !isRunId(q);
  return isPartOfId || agent === null || customer === null || feature === null;
}

/** Children and descendants of a run. */
export interface RunLineage {
  /** Children, latest start first; at most `CHILDREN_MAX`. */
  readonly children: readonly RunId[];
  /** True if there are more children. */
  readonly hasMore: boolean;
  /** Cost of the descendants read, each counted once, as of their last summary. */
  readonly cost: Picodollars;
  /** True if there are more descendants than `DESCENDANTS`; their cost is not included. */
  readonly isCut: boolean;
}
