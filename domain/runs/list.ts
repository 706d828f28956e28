/**
 * The list of runs: its filters and its rows.
 *
 * @module
 */
import type { Picodollars } from "../pricing/money.ts";
import type { RunId } from "../core/ids.ts";
import { type RunSummary, summarize, sumsOfSummary } from "./summary.ts";
import { runCostOf, type RunRecord } from "./record.ts";
import { type RunHead, type RunTrait, unpricedUsageOf } from "./cost.ts";
import { closedByOf } from "./idle.ts";
import { type OneOf, type RunsQuery, type UnusualFigure, valuesOf } from "./list_filter.ts";

export type { RunsQuery } from "./list_filter.ts";
export { RUN_KINDS, RUN_TRAITS, type RunKind, type RunTrait } from "./cost.ts";

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
    | ("durationMs" | "customerId" | "feature" | "cost" | "usage" | "flags" | "failedTool")
  > {
  /** Sort instant, unix milliseconds. */
  readonly sortedAt: number;
  /** Traits the run can be filtered by. */
  readonly has: readonly RunTrait[];
  /** Id of the run that started it; null for none. */
  readonly parent: RunId | null;
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
    parent: summary.parent ?? null,
    failedTool: shown.failedTool ?? null,
  };
}

/**
 * Returns whether a run matches a query. The run may have changed since the index returned it, and
 * no index covers every filter.
 */
export function isListed(row: RunListRow, query: RunsQuery): boolean {
  const is = <T>(wanted: OneOf<T> | undefined, value: T) =>
    wanted === undefined || valuesOf(wanted).includes(value);
  const { not = {}, duration } = query;
  const isNot = (unwanted: readonly (string | null)[] = [], value: string | null) =>
    !unwanted.includes(value);
  const { models } = row.cost;
  return row.sortedAt >= (query.from ?? -Infinity) && row.sortedAt < (query.to ?? Infinity) &&
    is(query.agent, row.agent) && is(query.status, row.status) && is(query.kind, row.kind) &&
    is(query.customer, row.customerId) && is(query.feature, row.feature) &&
    (query.has === undefined || row.has.includes(query.has)) &&
    row.cost.amount >= (query.minCost ?? 0n) && row.id.includes(query.q ?? "") &&
    (query.model === undefined ||
      models.some(({ model, provider }) =>
        is(query.model, model) && is(query.provider, provider)
      )) &&
    isNot(not.agent, row.agent) && isNot(not.status, row.status) &&
    isNot(not.customer, row.customerId) && isNot(not.feature, row.feature) &&
    (not.model === undefined || models.every(({ model }) => isNot(not.model, model))) &&
    (duration === undefined || row.durationMs !== null &&
        row.durationMs >= duration.min && row.durationMs <= duration.max);
}

/** Usual figures of an agent's run. */
export interface UsualRun {
  /** Median duration in milliseconds. */
  readonly durationMs: number;
  /** Median cost in picodollars. */
  readonly cost: Picodollars;
}

/**
 * Factor from which a figure is unusual, least number of runs that have a usual figure, and least
 * figures that matter: milliseconds, and picodollars.
 */
export const UNUSUAL = { factor: 2, runsMin: 5, slow: 1_000, expensive: 10 ** 9 } as const;

/** Returns the medians of finished runs; null for too few. */
export function usualOf(rows: readonly RunListRow[]): UsualRun | null {
  const ended = rows.filter(({ durationMs }) => durationMs !== null);
  if (ended.length < UNUSUAL.runsMin) return null;
  const middle = Math.floor(ended.length / 2);
  const durations = ended.map(({ durationMs }) => durationMs ?? 0).sort((a, b) => a - b);
  const costs = ended.map(({ cost }) => cost.amount).sort((a, b) => Number(a - b));
  return { durationMs: durations[middle] ?? 0, cost: costs[middle] ?? 0n };
}

/** Returns how many times the usual figure a run has; 0 if that is unknown. */
export function timesUsual(
  { durationMs, cost }: Pick<RunListRow, "durationMs" | "cost">,
  usual: UsualRun | null,
  figure: UnusualFigure,
): number {
  if (usual === null) return 0;
  const [own, base] = figure === "slow"
    ? [durationMs ?? 0, usual.durationMs]
    : [Number(cost.amount), Number(usual.cost)];
  return base === 0 || own < UNUSUAL[figure] ? 0 : own / base;
}

/** Totals of no runs. */
export const NO_TOTALS = {
  /** Cost in picodollars. */
  cost: 0n,
  /** Number of model calls. */
  calls: 0,
  /** Number of tool calls. */
  toolCalls: 0,
  /** Number of logs. */
  logs: 0,
  /** Number of failed events. */
  errors: 0,
  /** Input tokens. */
  inputTokens: 0n,
  /** Output tokens. */
  outputTokens: 0n,
  /** Cached input tokens. */
  cachedInputTokens: 0n,
};

/** Totals of runs. */
export type RunTotals = Readonly<typeof NO_TOTALS>;

/** Returns the totals of one run. */
export function totalsOf({ cost, usage }: Pick<RunListRow, "cost" | "usage">): RunTotals {
  const { toolCalls, logs, errors, inputTokens, outputTokens, cachedInputTokens } = usage;
  const tokens = { inputTokens, outputTokens, cachedInputTokens };
  return { cost: cost.amount, calls: cost.calls, toolCalls, logs, errors, ...tokens };
}

/** A run in the index. */
export interface RunStart {
  /** Sort instant, unix milliseconds. */
  readonly at: number;
  /** Cost in picodollars; 0 in an order that does not have it. */
  readonly cost: Picodollars;
}

/** Orders whose starts can be read without their runs: `costs` has the runs that cost something. */
export type RunStartsOf = "runs" | "failures" | "running" | "costs";

/** A run that a run started, itself or through others. */
export interface Descendant {
  /** The run as of its last summary. */
  readonly row: RunListRow;
  /** The run that started it. */
  readonly parent: RunId;
}

/** Children and descendants of a run. */
export interface RunLineage {
  /** Children, latest start first; at most `CHILDREN_MAX`. */
  readonly children: readonly RunId[];
  /** True if there are more children. */
  readonly hasMore: boolean;
  /** Descendants read, each once: by generation, latest start first. */
  readonly descendants: readonly Descendant[];
  /** Totals of the descendants read. */
  readonly totals: RunTotals;
  /** True if there are more descendants than `DESCENDANTS`; they are not included. */
  readonly isCut: boolean;
}

/** Children of a run of a list, and totals of its descendants. */
export interface RunFamily {
  /** Children, earliest start first. */
  readonly children: readonly RunListRow[];
  /** True if there are more descendants than were read. */
  readonly isCut: boolean;
  /** Cost of the descendants, in picodollars. */
  readonly cost: Picodollars;
  /** Input and output tokens of the descendants. */
  readonly tokens: bigint;
  /** Descendants that failed or timed out, those of a generation from the earliest start on. */
  readonly failures: readonly RunListRow[];
}

/** A family without children. */
export const NO_FAMILY: RunFamily = {
  children: [],
  isCut: false,
  cost: 0n,
  tokens: 0n,
  failures: [],
};

/** Adds a descendant to a family. */
export function addToFamily(
  { children, isCut, cost, tokens, failures }: RunFamily,
  row: RunListRow,
  isChild: boolean,
): RunFamily {
  return {
    // They are read from the latest on.
    children: isChild ? [row, ...children] : children,
    isCut,
    cost: cost + row.cost.amount,
    tokens: tokens + row.usage.inputTokens + row.usage.outputTokens,
    failures: row.status === "failed" || row.status === "timeout" ? [row, ...failures] : failures,
  };
}

/**
 * Returns the failed runs that the failure of a run came through: its last child that failed, the
 * last failed child of that one, and so on.
 *
 * @param failures failed descendants of the run, and others
 */
export function causesOf(run: RunId, failures: readonly RunListRow[]): readonly RunListRow[] {
  const startOf = ({ startedAt, sortedAt }: RunListRow) => startedAt ?? sortedAt;
  const [cause] = failures.filter(({ parent }) => parent === run)
    .sort((a, b) => startOf(b) - startOf(a) || (a.id < b.id ? 1 : -1));
  // A run may be a descendant of itself.
  const others = failures.filter((failure) => failure !== cause);
  return cause === undefined ? [] : [cause, ...causesOf(cause.id, others)];
}
