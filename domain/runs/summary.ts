/**
 * The summary of a run: the result of processing its parts, and its contribution to the roll-ups.
 *
 * A summary depends on the parts alone, so it can always be recomputed. Late events, redelivery,
 * new prices and crashes are all the same case.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { type Closing, durationOf, labelsOf, type Opening, type RunLabels } from "./run.ts";
import {
  type CostFlag,
  costOfRun,
  type CostSum,
  firstArrivalOf,
  flagsOf,
  type RunFlag,
  type RunHead,
  type RunKind,
  type RunTrait,
  type RunUsage,
  sortedAtOf,
  traitsOf,
  usageOfRun,
} from "./cost.ts";
import { dayOf } from "../core/time.ts";
import { isOpenTrace } from "./trace_facts.ts";
import type { CallTotals, ModelName, ModelUsage } from "./model_usage.ts";

/** A run's summary. */
export interface RunSummary {
  /** State it was computed from; a later state differs in at least one field. */
  readonly seen: {
    /** True if the opening had arrived. */
    readonly opening: boolean;
    /** True if it was closed. */
    readonly closing: boolean;
    /** The cause that closed it; absent for a finish, and while it is open. */
    readonly closedBy?: Closing["closedBy"];
    /** Number of event batches. */
    readonly batches: number;
    /** Number of repricings. */
    readonly repricings: number;
    /** Number of added scores; absent for none. */
    readonly scores?: number;
    /** Number of those of judges; absent for none. */
    readonly judged?: number;
    /** True if it has a trace of its own that is not closed; absent otherwise. */
    readonly isOpenTrace?: true;
  };
  /**
   * Number of times the cost became final, or the run was reopened: 0 until it is closed. It never
   * falls.
   */
  readonly revision: number;
  /** Contribution to the roll-ups; null until the opening arrives. */
  readonly contribution: Contribution | null;
  /**
   * Start by the client's clock, and arrival of the later of opening and close (of an idle close, its
   * deadline), unix milliseconds; null until the opening arrives.
   */
  readonly times: RunTimes | null;
  /** Position in lists, and the list attributes other than labels. */
  readonly listed: {
    /** Kind of call that opened it; `run` until the opening arrives. */
    readonly kind: RunKind;
    /**
     * Sort instant (`sortedAtOf`), or the arrival of its first part until the opening arrives; unix
     * milliseconds.
     */
    readonly at: number;
    /** Traits of the run. */
    readonly has: readonly RunTrait[];
  };
  /** List fields that no other part of a summary holds. */
  readonly shown: SummaryFields;
  /** Numbers in the change feed; set by the commit that stores the summary. */
  readonly changes?: ChangeNumbers;
  /** When the cost last became final, unix milliseconds; absent while the run is open. */
  readonly finalAt?: number;
  /** Its entry in the expiry index; absent before it is stored. The sweep changes both. */
  readonly expiry?: { readonly retentionClass: string; readonly since: number };
  /**
   * Numbers of the blocks that hold entries of the run; absent for none. Set by the commit that
   * stores the summary.
   */
  readonly blocks?: readonly number[];
  /** Id of the run that started it; absent if its opening names none. */
  readonly parent?: RunId;
  /**
   * True if an alert rule counts how it ended or what its checks said; absent if none does. Set by
   * the commit that stores the summary.
   */
  readonly isCounted?: boolean;
  /**
   * Results of its checks; absent if it has no results. Set by the commit that stores the results.
   */
  readonly checks?: {
    /** Number of results with the status `fail` or `error`. */
    readonly notPassed: number;
  };
  /**
   * True if checks that judge the run later have not judged this state of it; absent otherwise.
   * The commit that stores their results removes it.
   */
  readonly awaitsChecks?: true;
  /** Slugs of the judges that its closes were filed for; absent for none. */
  readonly judges?: readonly string[];
}

/** Times of a run whose opening has arrived, unix milliseconds. */
export interface RunTimes extends Pick<Opening, "startedAt"> {
  /** Arrival of the opening or the close, whichever is later. */
  readonly receivedAt: number;
  /** Arrival of the close if the opening came later; absent otherwise. */
  readonly closedAt?: number;
}

/** Returns when the close of a run arrived, unix milliseconds; while it is open, its opening. */
export function closeArrivalOf({ times }: Pick<RunSummary, "times">): number {
  return times?.closedAt ?? times?.receivedAt ?? 0;
}

/** List fields that no other part of a summary holds. */
export interface SummaryFields extends Pick<RunUsage, "toolCalls" | "logs" | "errors"> {
  /** Arrival of the opening, unix milliseconds; null until then. */
  readonly openedAt: number | null;
  /** End by the client's clock, unix milliseconds; null while it is open. */
  readonly finishedAt: number | null;
  /** Duration in milliseconds; null if unknown. */
  readonly durationMs: number | null;
  /** Anomalies, and losses of data the client sent. */
  readonly flags: readonly RunFlag[];
  /** Anomalies in the data its cost was computed from. */
  readonly costFlags: readonly CostFlag[];
  /** Tool of its latest tool call that failed; absent for none. */
  readonly failedTool?: string;
  /** Totals of a run without an opening, which adds nothing to roll-ups. */
  readonly sums?: RunSums;
}

/** Returns the state a summary of the run would be computed from. */
function stateOf({ parts, batchCount, repricings, ages }: RunHead): RunSummary["seen"] {
  return {
    opening: parts.opening !== null,
    closing: parts.closing !== null,
    ...parts.closing?.closedBy === undefined ? {} : { closedBy: parts.closing.closedBy },
    batches: batchCount,
    repricings,
    ...ages.scores === undefined ? {} : { scores: ages.scores.count },
    ...ages.scores?.judged === undefined ? {} : { judged: ages.scores.judged },
    ...ages.trace !== undefined && isOpenTrace(ages) ? { isOpenTrace: true } : {},
  };
}

/** Returns whether a summary matches the current state of a run. */
export function isCurrent(summary: RunSummary | null, head: RunHead): boolean {
  return isCostCurrent(summary, head) && summary?.seen.scores === head.ages.scores?.count;
}

/** Returns whether a summary has the current cost of a run; scores do not change the cost. */
export function isCostCurrent(summary: RunSummary | null, head: RunHead): boolean {
  if (summary === null || summary.listed.kind !== kindOf(head)) return false;
  const now = stateOf(head);
  return COST_STATE.every((field) => summary.seen[field] === now[field]);
}

/** Fields of a summarized state that the cost depends on. */
const COST_STATE = ["opening", "closing", "closedBy", "batches", "repricings"] as const;

/** Returns the kind of a run; `POST /v1/runs` turns a heartbeat into a run. */
function kindOf({ parts: { opening } }: RunHead): RunKind {
  return opening?.kind ?? "run";
}

/** Computes the summary of a run that replaces `previous`. */
export function summarize(head: RunHead, previous: RunSummary | null): RunSummary {
  const seen = stateOf(head);
  const kind = kindOf(head);
  const revision = (previous?.revision ?? 0) + (isRevised(previous, seen, kind) ? 1 : 0);
  const cost = costOfRun(head);
  const sums = sumsOf(head, cost);
  const { opening, closing } = head.parts;
  const receivedAt = Math.max(opening?.receivedAt ?? 0, closing?.receivedAt ?? 0);
  const sortedAt = opening === null ? undefined : sortedAtOf(opening);
  const parent = opening?.parentRunId;
  return {
    seen,
    revision,
    contribution: sortedAt === undefined ? null : { day: dayOf(sortedAt), ...sums },
    times: opening && {
      startedAt: opening.startedAt,
      receivedAt,
      ...closing === null || closing.receivedAt === receivedAt
        ? {}
        : { closedAt: closing.receivedAt },
    },
    listed: {
      kind,
      // A run without an opening keeps its position when retention removes its parts.
      at: sortedAt ?? previous?.listed.at ?? firstArrivalOf(head),
      has: traitsOf(head, cost.unpricedModels),
    },
    shown: { ...shownOf(head, cost), ...sortedAt === undefined ? { sums } : {} },
    ...parent === undefined ? {} : { parent },
  };
}

/** Returns whether the cost becomes final with a state, or is no longer final. */
function isRevised(previous: RunSummary | null, seen: RunSummary["seen"], kind: RunKind): boolean {
  if (!seen.closing || previous === null) return seen.closing !== (previous?.seen.closing ?? false);
  const { closing, closedBy, batches, repricings } = previous.seen;
  // An opening after the close changes the cost only if it changes the kind: a heartbeat reports a
  // cost.
  return !closing || closedBy !== seen.closedBy || previous.listed.kind !== kind ||
    batches !== seen.batches || repricings !== seen.repricings;
}

/**
 * Returns the totals of a summarized run; without an opening they are not part of a contribution.
 */
export function sumsOfSummary({ contribution, shown }: RunSummary): RunSums {
  return contribution ?? shown.sums as RunSums;
}

function sumsOf(head: RunHead, { amount, models, calls, reported }: CostSum): RunSums {
  const { events, inputTokens, outputTokens, cachedInputTokens } = usageOfRun(head);
  return {
    labels: labelsOf(head.parts),
    events,
    calls,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cost: amount,
    models,
    ...reported === undefined ? {} : { reported },
  };
}

function shownOf(head: RunHead, { flags: costFlags }: CostSum): SummaryFields {
  const { opening, closing } = head.parts;
  const { toolCalls, logs, errors, failedTool } = head.totals;
  return {
    openedAt: opening?.receivedAt ?? null,
    finishedAt: closing?.finishedAt ?? null,
    durationMs: durationOf(opening, closing),
    toolCalls,
    logs,
    errors,
    flags: flagsOf(head),
    costFlags,
    ...failedTool === undefined ? {} : { failedTool: failedTool.name },
  };
}

/** Change feed numbers of a run's milestones; 0 means unknown. */
export interface ChangeNumbers {
  /** Latest change. */
  readonly latest: number;
  /** Change that added the opening, or reopened the run. */
  readonly opened: number;
  /** Change that closed the run; 0 while it is open. */
  readonly finished: number;
  /** Change that last made the cost final; 0 while it is open. */
  readonly costFinal: number;
  /** Change that last judged it by its checks; absent for none, and while it is open. */
  readonly checked?: number;
  /** Change that last stored the score of a judge; absent for none, and while it is open. */
  readonly judged?: number;
}

/**
 * Returns a run's change numbers after a change from one summary to the next.
 *
 * @param number number of the change
 * @param isJudged true if it stores a judgement of the run's checks
 */
export function numbersAfter(
  before: RunSummary | null,
  after: RunSummary,
  number: number,
  isJudged = false,
): ChangeNumbers {
  const previous: Omit<ChangeNumbers, "latest"> = before?.changes ??
    { opened: 0, finished: 0, costFinal: 0 };
  const { opening = false, closing = false, closedBy } = before?.seen ?? {};
  const { seen } = after;
  const opens = seen.opening && (!opening || closing && !seen.closing);
  const opened = opens ? number : previous.opened;
  if (!seen.closing) return { latest: number, opened, finished: 0, costFinal: 0 };
  const closes = !closing || closedBy !== seen.closedBy;
  const checked = isJudged ? number : previous.checked;
  const judged = seen.judged === before?.seen.judged ? previous.judged : number;
  return {
    latest: number,
    opened,
    finished: closes ? number : previous.finished,
    costFinal: after.revision > (before?.revision ?? 0) ? number : previous.costFinal,
    ...checked === undefined ? {} : { checked },
    ...judged === undefined ? {} : { judged },
  };
}

/** Measures that are all 0, the start of every accumulation. */
export const EMPTY_MEASURES = {
  /** Number of runs. */
  runs: 0,
  /** Number of runs that ended in `success`. */
  succeeded: 0,
  /** Number of runs that ended in `failed`. */
  failed: 0,
  /** Number of runs that ended in `timeout`. */
  timedOut: 0,
  /** Number of runs that have not ended. All other runs ended in `cancelled`. */
  running: 0,
  /** Number of events. */
  events: 0,
  /** Number of model calls. */
  calls: 0,
  /** Input tokens. */
  inputTokens: 0n,
  /** Output tokens. */
  outputTokens: 0n,
  /** Cached input tokens. */
  cachedInputTokens: 0n,
  /** Cost in picodollars. */
  cost: 0n,
  /** Number of calls to models without a price. */
  unpricedCalls: 0,
  /** Input tokens of unpriced calls. */
  unpricedInputTokens: 0n,
  /** Output tokens of unpriced calls. */
  unpricedOutputTokens: 0n,
  /** Cached input tokens of unpriced calls. */
  unpricedCachedInputTokens: 0n,
  /** Number of calls that name a model and have no token counts. */
  uncountedCalls: 0,
};

/** Measures of a roll-up. Each is a sum over runs, so differences can be added. */
export type Measures = Readonly<typeof EMPTY_MEASURES>;

/** Totals of one run. The cost may be stated by the client. */
export interface RunSums extends CallTotals, Pick<Measures, "events"> {
  /** Labels the run is grouped by. */
  readonly labels: RunLabels;
  /** Calls by model. */
  readonly models: readonly ModelUsage[];
  /** Name of the line with the call that a heartbeat reports, which is no event; absent for none. */
  readonly reported?: ModelName | undefined;
}

/** The contribution of one run to the roll-ups of its day. */
export interface Contribution extends RunSums {
  /** UTC day the run is counted on, `YYYY-MM-DD`. */
  readonly day: string;
}
