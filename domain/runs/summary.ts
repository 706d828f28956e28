/**
 * The summary of a run: what the pipeline made of its parts, and what it adds to the roll-ups.
 *
 * It follows from the parts alone, so making it again is always safe: late events, a second delivery,
 * new prices and a crash are one and the same case.
 *
 * @module
 */
import type { Contribution, RunSums } from "./contribution.ts";
import type { RunId } from "../core/ids.ts";
import { durationOf, labelsOf, statusOf } from "./run.ts";
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

/** Which state of a run a summary was made of; a later state differs in one of these. */
export interface SummarizedState {
  /** Whether it had its opening. */
  readonly opening: boolean;
  /** Whether it had its close. */
  readonly closing: boolean;
  /** How many batches of events it had. */
  readonly batches: number;
  /** How often it had been priced anew. */
  readonly repricings: number;
  /** How many scores were added to it; absent for none. */
  readonly scores?: number;
}

/** When a run began and was last heard of, by its opening and its close. */
export interface RunTimes {
  /** Start by the client's clock, unix milliseconds. */
  readonly startedAt: number;
  /** Arrival of the later of opening and close, unix milliseconds. */
  readonly receivedAt: number;
}

/** Where a run stands in lists, besides its labels. */
export interface ListPosition {
  /** Which call opened it; `run` until the opening arrives. */
  readonly kind: RunKind;
  /**
   * What it is sorted by (`sortedAtOf`), or the arrival of its first part while there is no opening; unix
   * milliseconds.
   */
  readonly at: number;
  /** What is special of it. */
  readonly has: readonly RunTrait[];
}

/** What lists show of a run that its summary says nowhere else. */
export interface SummaryFields
  extends Pick<RunUsage, "llmCalls" | "toolCalls" | "logs" | "errors"> {
  /** Arrival of the opening, unix milliseconds; null until then. */
  readonly openedAt: number | null;
  /** End by the client's clock, unix milliseconds; null while it is open. */
  readonly finishedAt: number | null;
  /** Milliseconds it took; null where that is not known. */
  readonly durationMs: number | null;
  /** What is odd about it, or was lost of what was sent. */
  readonly flags: readonly RunFlag[];
  /** Oddities in what its cost was computed from. */
  readonly costFlags: readonly CostFlag[];
  /** The sums of a run without an opening, which adds nothing to roll-ups. */
  readonly sums?: RunSums;
}

/** A run's summary. */
export interface RunSummary {
  /** The state it was made of. */
  readonly seen: SummarizedState;
  /** How often the cost was made final: 0 while the run is open, one more for each change after. */
  readonly revision: number;
  /** What the run adds to the roll-ups; null until its opening says for whom and when. */
  readonly contribution: Contribution | null;
  /** When it was; null until its opening has arrived. */
  readonly times: RunTimes | null;
  /** Its place in lists. */
  readonly listed: ListPosition;
  /** What else lists show of it. */
  readonly shown: SummaryFields;
  /** Where the run stands in the feed of changes; set by the commit that stores the summary. */
  readonly changes?: ChangeNumbers;
  /** The run that started it; absent where its opening names none. */
  readonly parent?: RunId;
}

/** The state of a run that a summary of it would see. */
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

/** Whether a summary was made of the very state that a run is in. */
export function isCurrent(summary: RunSummary | null, head: RunHead): boolean {
  return isCostCurrent(summary, head) && summary?.seen.scores === head.ages.scores?.count;
}

/** Whether a summary has the cost of the state that a run is in; scores change none. */
export function isCostCurrent(summary: RunSummary | null, head: RunHead): boolean {
  if (summary === null) return false;
  const now = summarizedStateOf(head);
  const { opening, closing, batches, repricings } = summary.seen;
  return isSameKind(summary, head) && opening === now.opening && closing === now.closing &&
    batches === now.batches &&
    repricings === now.repricings;
}

/** Whether a run has the kind that its summary says; `POST /v1/runs` makes a heartbeat's a run. */
function isSameKind({ listed }: RunSummary, { parts }: RunHead): boolean {
  return listed.kind === kindOf(parts);
}

function kindOf({ opening }: RunHead["parts"]): RunKind {
  return opening?.kind ?? "run";
}

/** Makes the summary of a run, after the one made of an earlier state. */
export function summarize(head: RunHead, previous: RunSummary | null): RunSummary {
  const seen = summarizedStateOf(head);
  // An opening after the close changes no cost unless it changes the kind: a heartbeat reports one.
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
      // Parts that go by age leave a run without an opening where it stands.
      at: sortedAt ?? previous?.listed.at ?? firstArrivalOf(head),
      has: traitsOf(head, cost.unpricedModels),
    },
    shown: { ...shownOf(head, cost), ...sortedAt === undefined ? { sums } : {} },
    ...parent === undefined ? {} : { parent },
  };
}

/** Returns the sums of a summarized run: without an opening they are not part of a contribution. */
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

/** The changes of a run that followers are told of; 0 is none that is known. */
export interface ChangeNumbers {
  /** The latest. */
  readonly latest: number;
  /** The one that first had its opening. */
  readonly opened: number;
  /** The one that first had its close. */
  readonly finished: number;
  /** The one that last made its cost final. */
  readonly costFinal: number;
}

/**
 * The numbers of a run once a change has made one summary of another.
 *
 * @param number of the change
 */
export function numbersAfter(
  before: RunSummary | null,
  after: RunSummary,
  number: number,
): ChangeNumbers {
  const known = before?.changes ?? { opened: 0, finished: 0, costFinal: 0 };
  const since = (was: boolean, is: boolean, then: number) => is && !was ? number : then;
  const { opening = false, closing = false } = before?.seen ?? {};
  return {
    latest: number,
    opened: since(opening, after.seen.opening, known.opened),
    finished: since(closing, after.seen.closing, known.finished),
    costFinal: after.revision > (before?.revision ?? 0) ? number : known.costFinal,
  };
}
