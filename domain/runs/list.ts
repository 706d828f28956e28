/**
 * The list of runs: what it can be asked for, and what it shows of each run.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { Picodollars } from "../pricing/money.ts";
import { judgeId, type RunId } from "../core/ids.ts";
import { type RunSummary, summarize, sumsOfSummary } from "./summary.ts";
import { runCostOf, type RunRecord } from "./record.ts";
import type { SpendFilters } from "./filters.ts";
import { type RunHead, unpricedUsageOf } from "./cost.ts";
import type { RunKind, RunTrait } from "./traits.ts";

export { RUN_KINDS, RUN_TRAITS, type RunKind, type RunTrait } from "./traits.ts";

/** Filters of a list of runs. An absent one is not applied; null selects runs without such a label. */
export interface RunsQuery extends SpendFilters {
  /** Which call opened it. */
  readonly kind?: RunKind;
  /** What else must be true of it. */
  readonly has?: RunTrait;
  /** Least cost. */
  readonly minCost?: Picodollars;
  /** Text in its id. */
  readonly q?: string;
  /** Earliest place in the list, unix milliseconds; null for any. */
  readonly from: number | null;
  /** First instant behind the latest place in the list, unix milliseconds; null for any. */
  readonly to: number | null;
}

/**
 * A place in the list: newest first, by start and then id. A run that starts far in the future has that of
 * its arrival (R14), an orphan that of its first part's.
 */
export interface RunPosition {
  /** Unix milliseconds. */
  readonly at: number;
  /** The run. */
  readonly run: RunId;
}

/** A run as the list shows it: the fields of the full record, without what may be large. */
export interface RunListRow extends
  Pick<
    RunRecord,
    | ("id" | "kind" | "agent" | "status" | "startedAt" | "finishedAt" | "receivedAt")
    | ("durationMs" | "customerId" | "feature" | "cost" | "usage" | "flags")
  > {
  /** Its place in the list, unix milliseconds. */
  readonly sortedAt: number;
  /** Traits that it can be filtered by. */
  readonly has: readonly RunTrait[];
}

/** A page of the list. */
export interface RunListPage {
  /** Runs, newest first. */
  readonly rows: readonly RunListRow[];
  /** Where the next page starts after, or null at the end. A page with a next one may be short. */
  readonly next: RunPosition | null;
  /**
   * How far back was looked, unix milliseconds, when the page is short because too many runs had to be
   * passed by; null when it is full or the last one.
   */
  readonly searchedTo: number | null;
}

/** Returns the row of a run as it is now, by its parts and its summary. */
export function listRowOf(id: RunId, head: RunHead, summary: RunSummary | null): RunListRow {
  const row = summedRowOf(id, summarize(head, summary));
  return { ...row, cost: runCostOf(head, summary) };
}

/** Returns the row of a run as its summary has it. */
export function summedRowOf(id: RunId, summary: RunSummary): RunListRow {
  const { seen, revision, times, listed, shown } = summary;
  const { labels, models, calls, cost, ...usage } = sumsOfSummary(summary);
  const { finishedAt, durationMs, llmCalls, toolCalls, logs, errors } = shown;
  const { events, inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    id,
    kind: listed.kind,
    agent: labels.agent,
    status: labels.status,
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
      unpricedModels: unpricedUsageOf(models),
      flags: shown.costFlags,
      state: seen.closing ? "final" : "pending",
      revision,
    },
    usage: {
      events,
      llmCalls,
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
 * Whether a run is among what a query asks for. It may have been summed up once more since it was found
 * in the index, and no index has all that can be asked.
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

/** Whether a query asks for something that no index has, so that runs are looked at one by one. */
export function needsWindow(query: RunsQuery): boolean {
  const { agent, customer, feature, q } = query;
  const isPartOfId = q !== undefined && judgeId("run", q) !== "valid";
  return isPartOfId || agent === null || customer === null || feature === null;
}

/** The runs of all teams as lists. */
export interface RunListStore {
  /**
   * Reads a page. A run is found within moments of the call that changed it.
   *
   * @param after the place to go on behind, or null for the first page
   * @param limit runs of the page at most
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  page(
    team: Pick<Team, "id">,
    query: RunsQuery,
    after: RunPosition | null,
    limit: number,
  ): Promise<RunListPage>;
}
