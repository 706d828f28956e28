/**
 * The full record of a run, joined from the parts that arrived.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { RawJson } from "../core/raw_json.ts";
import { CLOCK_SKEW_MS_MAX } from "../core/limits.ts";
import { mergeMetadata, type Metadata } from "./metadata.ts";
import {
  durationOf,
  labelsOf,
  type Opening,
  type RunParts,
  type RunStatus,
  type Score,
  statusOf,
} from "./run.ts";
import { costOfRun, type CostSum, type RunHead, type RunUsage, usageOfRun } from "./cost.ts";
import type { AddedScore } from "./added_scores.ts";
import { flagsOf, type RunFlag } from "./flags.ts";
import type { PayloadState } from "./payload.ts";
import { type Processing, type StageProgress, STAGES, type StageState } from "./stages.ts";
import { isCostCurrent, type RunSummary } from "./summary.ts";

/** Everything stored of a run but its events. */
export interface StoredRun extends RunHead {
  /** Earliest arrival of a batch of its events, unix milliseconds; null when there is none. */
  readonly firstBatchAt: number | null;
  /** How much of its payload is still there. */
  readonly payload: PayloadState;
  /** What the pipeline made of it so far. */
  readonly summary: RunSummary | null;
  /** How the stages behind its close stand. */
  readonly processing: Processing | null;
  /** Scores that were added to it, in order of arrival. */
  readonly addedScores: readonly AddedScore[];
}

/** A run as reads show it (decisions, section 6); unset fields are null. */
export interface RunRecord {
  /** The run. */
  readonly id: RunId;
  /** Which call opened it; `run` until the opening arrives. */
  readonly kind: "run" | "heartbeat";
  /** Slug of the agent; null until the opening arrives. */
  readonly agent: string | null;
  /** How it stands. */
  readonly status: RunStatus;
  /** Start by the client's clock, unix milliseconds; null until the opening arrives. */
  readonly startedAt: number | null;
  /** End by the client's clock, unix milliseconds. */
  readonly finishedAt: number | null;
  /** Arrival of the opening, or of the first part while there is none; unix milliseconds. */
  readonly receivedAt: number;
  /** Arrival of the latest part, unix milliseconds. */
  readonly updatedAt: number;
  /** Milliseconds it took. */
  readonly durationMs: number | null;
  /** Client's clock less the server's, when more than 60 s apart (decision 31). */
  readonly clockSkewMs: number | null;
  /** What is odd about it, or was lost of what was sent. */
  readonly flags: readonly RunFlag[];
  /** Names of the fields of its opening and its close that are not stored as sent, sorted. */
  readonly lost: readonly string[];
  /** Whom the cost is attributed to. */
  readonly customerId: string | null;
  /** Label to filter by. */
  readonly feature: string | null;
  /** Labels of the opening and the close together. */
  readonly metadata: Metadata | null;
  /** Its result, as sent. */
  readonly output: RawJson | null;
  /** Note of a ping. */
  readonly note: string | null;
  /** How much of events, output, goal, note and metadata is still there (decision 40). */
  readonly payload: PayloadState;
  /** What it cost. */
  readonly cost: RunCost;
  /** What it used. */
  readonly usage: RunUsage;
  /** Self-reported scores. */
  readonly scores: readonly Score[];
  /** Scores that were added to it, in order of arrival. */
  readonly addedScores: readonly AddedScore[];
  /** The stages behind its close; none while it is open. */
  readonly processing: readonly StageProgress[];
  /** Its opening as stored, for the fields that only an opening has; null until it arrives. */
  readonly opening: Opening | null;
}

/** What a run cost and how sure that is. */
export interface RunCost extends CostSum {
  /** `final` once the run is closed and everything stored of it is counted in. */
  readonly state: "pending" | "final";
  /** 0 until first final, one more each time later events or new prices changed it (decision 17). */
  readonly revision: number;
}

/**
 * Joins what is stored of a run.
 *
 * The result depends on the parts alone: any order in which openings, batches and closes arrive
 * ends in the same record, but for the instants of arrival and the count of late revisions.
 */
export function assemble(id: RunId, stored: StoredRun): RunRecord {
  const { parts, firstBatchAt, ages, addedScores } = stored;
  const { opening, closing } = parts;
  const { customer, feature } = labelsOf(parts);
  const arrivals = [
    ...[opening, closing, ...addedScores].flatMap((part) => part?.receivedAt ?? []),
    ...[firstBatchAt, ages.latestAt].flatMap((at) => at ?? []),
  ];
  return {
    id,
    kind: opening?.kind ?? "run",
    agent: opening?.agent ?? null,
    status: statusOf(parts),
    startedAt: opening?.startedAt ?? null,
    finishedAt: closing?.finishedAt ?? null,
    receivedAt: opening?.receivedAt ?? arrivals.reduce((a, b) => Math.min(a, b)),
    updatedAt: arrivals.reduce((a, b) => Math.max(a, b)),
    durationMs: durationOf(opening, closing),
    clockSkewMs: clockSkewOf(parts),
    flags: flagsOf(stored),
    lost: [...new Set([...opening?.lost ?? [], ...closing?.lost ?? []])].sort(),
    customerId: customer,
    feature,
    metadata: mergeMetadata(opening?.metadata ?? null, closing?.metadata ?? null),
    output: closing?.output ?? opening?.output ?? null,
    note: closing?.note ?? opening?.note ?? null,
    payload: stored.payload,
    cost: runCostOf(stored, stored.summary),
    usage: usageOfRun(stored),
    scores: closing?.scores ?? [],
    addedScores,
    processing: processingOf(stored),
    opening,
  };
}

/** What a run cost as it is stored, and how sure that is by its summary. */
export function runCostOf(head: RunHead, summary: RunSummary | null): RunCost {
  const final = head.parts.closing !== null && isCostCurrent(summary, head);
  return {
    ...costOfRun(head),
    state: final ? "final" : "pending",
    revision: summary?.revision ?? 0,
  };
}

/** The stages of a closed run; before its cost is final they all wait for that. */
function processingOf({ parts, processing }: StoredRun): readonly StageProgress[] {
  if (parts.closing === null) return [];
  if (processing !== null) return processing.stages;
  const at = parts.closing.receivedAt;
  return STAGES.map((stage) => ({ stage, state: "pending", attempts: 0, at }));
}

/** Whether everything behind the close of a run is done or given up, so that nothing of it will change. */
export function isProcessed(stored: StoredRun): boolean {
  return runCostOf(stored, stored.summary).state === "final" &&
    processingOf(stored).every(({ state }) => SETTLED.has(state));
}

const SETTLED: ReadonlySet<StageState> = new Set(["done", "skipped", "dead"]);

/**
 * A run says when it starts, a closing heartbeat when it ends: that claim is held against arrival.
 */
function clockSkewOf({ opening, closing }: RunParts): number | null {
  const endsNow = opening?.kind === "heartbeat" && closing?.receivedAt === opening.receivedAt;
  const skew = endsNow
    ? closing.finishedAt - closing.receivedAt
    : opening === null
    ? 0
    : opening.startedAt - opening.receivedAt;
  return Math.abs(skew) > CLOCK_SKEW_MS_MAX ? skew : null;
}
