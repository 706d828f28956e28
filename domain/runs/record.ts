/**
 * The full record of a run, assembled from its stored parts, with the results of judges.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { RawJson } from "../core/raw_json.ts";
import { CLOCK_SKEW_MS_MAX } from "../core/limits.ts";
import {
  type ClosedBy,
  durationOf,
  labelsOf,
  mergeMetadata,
  type Metadata,
  type Opening,
  type RunLabels,
  type RunParts,
  type Score,
} from "./run.ts";
import {
  costOfRun,
  type CostSum,
  flagsOf,
  type RunFlag,
  type RunHead,
  type RunUsage,
  usageOfRun,
} from "./cost.ts";
import type { AddedScore } from "./scores.ts";
import { closedByOf } from "./idle.ts";
import { type ProcessedRun, processingOf, type StageProgress, type StageState } from "./stages.ts";
import { isCostCurrent, type RunSummary } from "./summary.ts";
import { type RunTrace, runTraceOf } from "./trace_facts.ts";
import type { Picodollars } from "../pricing/money.ts";

/** Retention state of a run's payload. */
export type PayloadState = "whole" | "partly_removed" | "removed";

/** A stored run without its events. */
export interface StoredRun extends ProcessedRun {
  /** Earliest arrival of a batch of its events, unix milliseconds; null if there is none. */
  readonly firstBatchAt: number | null;
  /** Retention state of events, output, goal, note and metadata (decision 40). */
  readonly payload: PayloadState;
  /** Scores added to it, in order of arrival. */
  readonly addedScores: readonly AddedScore[];
  /** Results of judges, by slug. */
  readonly judges: readonly JudgeResult[];
}

/** A run as returned by reads (decisions, section 6); unset fields are null. */
export interface RunRecord
  extends
    Pick<StoredRun, "payload" | "addedScores" | "incidents" | "checks" | "judges">,
    Pick<RunLabels, "agent" | "status" | "feature"> {
  /** The run. */
  readonly id: RunId;
  /** Kind of call that opened it; `run` until the opening arrives. */
  readonly kind: "run" | "heartbeat";
  /** The cause that closed it; null while it is open. */
  readonly closedBy: ClosedBy | null;
  /** Start by the client's clock, unix milliseconds; null until the opening arrives. */
  readonly startedAt: number | null;
  /** End by the client's clock, unix milliseconds. */
  readonly finishedAt: number | null;
  /** Arrival of the opening, or of the first part until the opening arrives; unix milliseconds. */
  readonly receivedAt: number;
  /** Arrival of the latest part, unix milliseconds. */
  readonly updatedAt: number;
  /** Duration in milliseconds; null if unknown. */
  readonly durationMs: number | null;
  /**
   * Client's clock minus the server's, if they differ by more than 60 s (decision 31); else null.
   */
  readonly clockSkewMs: number | null;
  /** Anomalies, and losses of data the client sent. */
  readonly flags: readonly RunFlag[];
  /** Names of opening and close fields not stored as sent, sorted. */
  readonly lost: readonly string[];
  /** Names of unknown fields of the opening and the close, sorted. */
  readonly ignored: readonly string[];
  /** Customer the cost is attributed to. */
  readonly customerId: string | null;
  /** Merged labels of the opening and the close. */
  readonly metadata: Metadata | null;
  /** Output as sent. */
  readonly output: RawJson | null;
  /** Note of a ping. */
  readonly note: string | null;
  /** Cost. */
  readonly cost: RunCost;
  /** Usage. */
  readonly usage: RunUsage;
  /** Tool of its latest tool call that failed; null for none. */
  readonly failedTool: string | null;
  /** Self-reported scores, in the order sent. */
  readonly scores: readonly Score[];
  /** Stages after finish; empty while it is open. */
  readonly processing: readonly StageProgress[];
  /** The trace of OpenTelemetry that gave it spans; null for none. */
  readonly trace: RunTrace | null;
  /** Opening as stored, for fields that only an opening has; null until it arrives. */
  readonly opening: Opening | null;
}

/** Cost of a run, and whether it is final. */
export interface RunCost extends CostSum {
  /** `final` once the run is closed and all its stored parts are included. */
  readonly state: "pending" | "final";
  /**
   * 0 until first final; incremented each time later events or new prices change the cost (decision
   * 17).
   */
  readonly revision: number;
}

/**
 * Assembles the record of a run from its stored parts.
 *
 * The result depends on the parts alone. Any arrival order of openings, batches and closes yields
 * the same record, except for arrival times and the number of late revisions.
 */
export function assemble(id: RunId, stored: StoredRun): RunRecord {
  const { parts, firstBatchAt, ages, addedScores } = stored;
  const { opening, closing } = parts;
  const { agent, status, customer, feature } = labelsOf(parts);
  const arrivals = [
    ...[opening, closing, ...addedScores].flatMap((part) => part?.receivedAt ?? []),
    ...[firstBatchAt, ages.latestAt].flatMap((at) => at ?? []),
  ];
  return {
    id,
    kind: opening?.kind ?? "run",
    agent,
    status,
    closedBy: closedByOf(closing),
    startedAt: opening?.startedAt ?? null,
    finishedAt: closing?.finishedAt ?? null,
    receivedAt: opening?.receivedAt ?? arrivals.reduce((a, b) => Math.min(a, b)),
    updatedAt: arrivals.reduce((a, b) => Math.max(a, b)),
    durationMs: durationOf(opening, closing),
    clockSkewMs: clockSkewOf(parts),
    flags: flagsOf(stored),
    lost: joined(opening?.lost, closing?.lost),
    ignored: joined(opening?.ignored, closing?.ignored),
    customerId: customer,
    feature,
    metadata: mergeMetadata(opening?.metadata ?? null, closing?.metadata ?? null),
    output: closing?.output ?? opening?.output ?? null,
    note: closing?.note ?? opening?.note ?? null,
    payload: stored.payload,
    cost: runCostOf(stored, stored.summary),
    usage: usageOfRun(stored),
    failedTool: stored.totals.failedTool?.name ?? null,
    scores: closing?.scores ?? [],
    addedScores,
    incidents: stored.incidents,
    checks: stored.checks,
    judges: stored.judges,
    processing: processingOf(stored),
    trace: runTraceOf(ages),
    opening,
  };
}

/** Returns the names that either part lists, sorted. */
function joined(
  opening: readonly string[] | undefined,
  closing: readonly string[] | undefined,
): readonly string[] {
  return [...new Set([...opening ?? [], ...closing ?? []])].sort();
}

/** Returns the cost of a stored run; its summary decides whether the cost is final. */
export function runCostOf(head: RunHead, summary: RunSummary | null): RunCost {
  const final = head.parts.closing !== null && isCostCurrent(summary, head);
  return {
    ...costOfRun(head),
    state: final ? "final" : "pending",
    revision: summary?.revision ?? 0,
  };
}

/**
 * Returns whether all processing after finish is done or given up, so the record will not change.
 */
export function isProcessed(stored: StoredRun): boolean {
  const stages = processingOf(stored);
  return stages.length > 0 && stages.every(({ state }) => ENDED.has(state));
}

/** Returns whether a run is processed and no judge still works on it. */
export function isJudged(stored: StoredRun): boolean {
  return isProcessed(stored) && stored.judges.every(({ state }) => state !== "pending");
}

const ENDED: ReadonlySet<StageState> = new Set(["done", "skipped", "dead"]);

/**
 * Returns the clock skew: the client's start of a run compared with its arrival. A heartbeat that
 * arrives with or after the close may have a start that its duration sets, so there it is the end.
 */
function clockSkewOf({ opening, closing }: RunParts): number | null {
  if (opening === null) return null;
  const endsFirst = opening.kind === "heartbeat" && closing !== null &&
    closing.receivedAt <= opening.receivedAt;
  const skew = endsFirst
    ? closing.finishedAt - closing.receivedAt
    : opening.startedAt - opening.receivedAt;
  return Math.abs(skew) > CLOCK_SKEW_MS_MAX ? skew : null;
}

/** States of a result: `failed` and `skipped` have a reason, and so has a call that is repeated. */
export const JUDGE_STATES = ["pending", "done", "failed", "skipped"] as const;

/** Result of one judge for one run. */
export interface JudgeResult {
  /** Slug of the judge. */
  readonly judge: string;
  /** Version of the judge; null before the first look. */
  readonly version: number | null;
  /** State. */
  readonly state: typeof JUDGE_STATES[number];
  /** Why there is no value; null if there is one, or while it is pending. */
  readonly reason: string | null;
  /** Value as the model gave it; null without one. */
  readonly value: number | boolean | null;
  /** Value on a scale from 0 to 1. */
  readonly score: number | null;
  /** True if the score is at least `pass_at`. */
  readonly passed: boolean | null;
  /** The model's words; empty once the payload is removed. */
  readonly reasoning: string | null;
  /** Model that was asked. */
  readonly model: string | null;
  /** Picodollars of all calls. */
  readonly cost: Picodollars;
  /** True if a part of the cost is the worst case, because no answer said what a call cost. */
  readonly isEstimated: boolean;
  /** Milliseconds of the last call. */
  readonly latencyMs: number | null;
  /** Calls so far. */
  readonly tries: number;
  /** Time of the end, unix milliseconds; null until then. */
  readonly at: number | null;
  /** Revision of the run's cost that was judged. */
  readonly revision: number | null;
}
