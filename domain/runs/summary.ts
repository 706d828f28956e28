/**
 * The summary of a run: the result of processing its parts, and its contribution to the roll-ups.
 *
 * A summary depends on the parts alone, so it can always be recomputed. Late events, redelivery,
 * new prices and crashes are all the same case.
 *
 * @module
 */
import type { Contribution, RunSums } from "./contribution.ts";
import type { RunId } from "../core/ids.ts";
import { durationOf, labelsOf, type Opening, statusOf } from "./run.ts";
import {
  type CostFlag,
  costOfRun,
  type CostSum,
  type RunHead,
  type RunUsage,
  usageOfRun,
} from "./cost.ts";
import { flagsOf, type RunFlag, sortedAtOf } from "./flags.ts";
import { firstArrivalOf, type RunKind, type RunTrait, traitsOf } from "./traits.ts";
import { dayOf } from "../core/time.ts";

/**
 * State of a run that a summary was computed from; a later state differs in at least one field.
 */
export interface SummarizedState {
  /** True if the opening had arrived. */
  readonly opening: boolean;
  /** True if the close had arrived. */
  readonly closing: boolean;
  /** Number of event batches. */
  readonly batches: number;
  /** Number of repricings. */
  readonly repricings: number;
  /** Number of added scores; absent for none. */
  readonly scores?: number;
}

/**
 * Start of a run, and the arrival of the later of its opening and its close; unix milliseconds.
 */
export type RunTimes = Pick<Opening, "startedAt" | "receivedAt">;

/** Position of a run in lists, and its list attributes other than labels. */
export interface ListPosition {
  /** Kind of call that opened it; `run` until the opening arrives. */
  readonly kind: RunKind;
  /**
   * Sort instant (`sortedAtOf`), or the arrival of its first part until the opening arrives; unix
   * milliseconds.
   */
  readonly at: number;
  /** Traits of the run. */
  readonly has: readonly RunTrait[];
}

/** List fields that no other part of a summary holds. */
export interface SummaryFields
  extends Pick<RunUsage, "llmCalls" | "toolCalls" | "logs" | "errors"> {
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
  /** Totals of a run without an opening, which adds nothing to roll-ups. */
  readonly sums?: RunSums;
}

/** A run's summary. */
export interface RunSummary {
  /** State it was computed from. */
  readonly seen: SummarizedState;
  /**
   * Number of times the cost became final: 0 while the run is open, incremented by each later
   * change.
   */
  readonly revision: number;
  /** Contribution to the roll-ups; null until the opening arrives. */
  readonly contribution: Contribution | null;
  /** Times of the run; null until the opening arrives. */
  readonly times: RunTimes | null;
  /** Position in lists. */
  readonly listed: ListPosition;
  /** Other fields shown in lists. */
  readonly shown: SummaryFields;
  /** Numbers in the change feed; set by the commit that stores the summary. */
  readonly changes?: ChangeNumbers;
  /** Id of the run that started it; absent if its opening names none. */
  readonly parent?: RunId;
}

/** Returns the state a summary of the run would be computed from. */
export function summarizedStateOf(
  { parts, batchCount, repricings, ages }: RunHead,
): SummarizedState {
  return {
    opening: parts.opening !== null,
    closing: parts.closing !== null,
    batches: batchCount,
    repricings,
    ...ages.scores === undefined ? {} : { scores: ages.scores.count },
  };
}

/** Returns whether a summary matches the current state of a run. */
export function isCurrent(summary: RunSummary | null, head: RunHead): boolean {
  return isCostCurrent(summary, head) && summary?.seen.scores === head.ages.scores?.count;
}

/** Returns whether a summary has the current cost of a run; scores do not change the cost. */
export function isCostCurrent(summary: RunSummary | null, head: RunHead): boolean {
  if (summary === null) return false;
  const now = summarizedStateOf(head);
  const { opening, closing, batches, repricings } = summary.seen;
  return isSameKind(summary, head) && opening === now.opening && closing === now.closing &&
    batches === now.batches &&
    repricings === now.repricings;
}

/**
 * Returns whether the kind in a summary is current; `POST /v1/runs` turns a heartbeat into a run.
 */
function isSameKind({ listed }: RunSummary, { parts }: RunHead): boolean {
  return listed.kind === kindOf(parts);
}

function kindOf({ opening }: RunHead["parts"]): RunKind {
  return opening?.kind ?? "run";
}

/** Computes the summary of a run that replaces `previous`. */
export function summarize(head: RunHead, previous: RunSummary | null): RunSummary {
  const seen = summarizedStateOf(head);
  // An opening after the close changes the cost only if it changes the kind: a heartbeat reports a
  // cost.
  const same = previous !== null && previous.seen.closing && isSameKind(previous, head) &&
    previous.seen.batches === seen.batches && previous.seen.repricings === seen.repricings;
  const revision = !seen.closing ? 0 : (previous?.revision ?? 0) + (same ? 0 : 1);
  const cost = costOfRun(head);
  const sums = sumsOf(head, cost);
  const { opening } = head.parts;
  const sortedAt = opening === null ? undefined : sortedAtOf(opening);
  const parent = opening?.parentRunId;
  return {
    seen,
    revision,
    contribution: sortedAt === undefined ? null : { day: dayOf(sortedAt), ...sums },
    times: timesOf(head),
    listed: {
      kind: kindOf(head.parts),
      // A run without an opening keeps its position when retention removes its parts.
      at: sortedAt ?? previous?.listed.at ?? firstArrivalOf(head),
      has: traitsOf(head, cost.unpricedModels),
    },
    shown: { ...shownOf(head, cost), ...sortedAt === undefined ? { sums } : {} },
    ...parent === undefined ? {} : { parent },
  };
}

/**
 * Returns the totals of a summarized run; without an opening they are not part of a contribution.
 */
export function sumsOfSummary({ contribution, shown }: RunSummary): RunSums {
  return contribution ?? shown.sums as RunSums;
}

function timesOf({ parts: { opening, closing } }: RunHead): RunTimes | null {
  if (opening === null) return null;
  const receivedAt = Math.max(opening.receivedAt, closing?.receivedAt ?? 0);
  return { startedAt: opening.startedAt, receivedAt };
}

function sumsOf(head: RunHead, { amount, models, calls }: CostSum): RunSums {
  const { parts } = head;
  const { customer, feature } = labelsOf(parts);
  const { events, inputTokens, outputTokens, cachedInputTokens } = usageOfRun(head);
  const agent = parts.opening?.agent ?? null;
  return {
    labels: { agent, customer, feature, status: statusOf(parts) },
    events,
    calls,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cost: amount,
    models,
  };
}

function shownOf(head: RunHead, { flags: costFlags }: CostSum): SummaryFields {
  const { opening, closing } = head.parts;
  const { llmCalls, toolCalls, logs, errors } = head.totals;
  return {
    openedAt: opening?.receivedAt ?? null,
    finishedAt: closing?.finishedAt ?? null,
    durationMs: durationOf(opening, closing),
    llmCalls,
    toolCalls,
    logs,
    errors,
    flags: flagsOf(head),
    costFlags,
  };
}

/** Change feed numbers of a run's milestones; 0 means unknown. */
export interface ChangeNumbers {
  /** Latest change. */
  readonly latest: number;
  /** Change that added the opening. */
  readonly opened: number;
  /** Change that added the close. */
  readonly finished: number;
  /** Change that last made the cost final. */
  readonly costFinal: number;
}

/**
 * Returns a run's change numbers after a change from one summary to the next.
 *
 * @param number number of the change
 */
export function numbersAfter(
  before: RunSummary | null,
  after: RunSummary,
  number: number,
): ChangeNumbers {
  const previous = before?.changes ?? { opened: 0, finished: 0, costFinal: 0 };
  const since = (was: boolean, is: boolean, then: number) => is && !was ? number : then;
  const { opening = false, closing = false } = before?.seen ?? {};
  return {
    latest: number,
    opened: since(opening, after.seen.opening, previous.opened),
    finished: since(closing, after.seen.closing, previous.finished),
    costFinal: after.revision > (before?.revision ?? 0) ? number : previous.costFinal,
  };
}
