/**
 * The stages after finish, as a record shows them, and the work on a run, its failures and its store.
 *
 * @module
 */
import type { CheckResult } from "./check_result.ts";
import type { RunHead } from "./cost.ts";
import { isCostCurrent, type RunSummary } from "./summary.ts";
import type { RunId, TeamId } from "../core/ids.ts";
import { errorText, RETRIES, retryAt } from "../work/work.ts";

/** All stages, in order (contract 6). */
export const STAGES = ["cost", "checks", "alerts", "judge"] as const;

/** One of {@link STAGES}. */
export type Stage = typeof STAGES[number];

/**
 * State of a stage: `skipped` if nothing is configured for it, `retrying` after a failure that will
 * be retried, `dead` once it was given up.
 */
export type StageState = "pending" | "done" | "skipped" | "retrying" | "dead";

/** Progress of one stage of a run. */
export interface StageProgress {
  /** Name of the stage. */
  readonly stage: Stage;
  /** State. */
  readonly state: StageState;
  /** Number of attempts. */
  readonly attempts: number;
  /** Time of the last change, unix milliseconds. */
  readonly at: number;
  /** Error of the last attempt, if it failed. */
  readonly error?: string | undefined;
}

/** Work on a run that can fail by itself: its projection, and checks that are judged later. */
export type RunWork = Extract<Stage, "cost" | "checks">;

/** A failure of the work on a run. */
export interface RunFailure {
  /** The work. */
  readonly work: RunWork;
  /** Failed tries; 0 after an operator asked for a retry. */
  readonly tries: number;
  /** Time of the last try or of the request, unix milliseconds. */
  readonly at: number;
  /** Error of the last try. */
  readonly error: string;
}

/**
 * Returns the failure that follows a failed try.
 *
 * @param last stored failure, also one of other work; null for none
 */
export function failureAfter(
  last: RunFailure | null,
  work: RunWork,
  error: unknown,
  nowMs: number,
): RunFailure {
  const tries = (last?.work === work ? last.tries : 0) + 1;
  return { work, tries, at: nowMs, error: errorText(error) };
}

/** Returns whether work is given up. */
export function isDead({ tries }: Pick<RunFailure, "tries">): boolean {
  return tries >= RETRIES.run.triesMax;
}

/** Returns the earliest time of the next try, unix milliseconds; `dead` if the work is given up. */
export function nextTryAt({ tries, at }: Pick<RunFailure, "tries" | "at">): number | "dead" {
  return retryAt("run", tries, at);
}

/** Parts of a stored run that its stages follow from. */
export interface ProcessedRun extends RunHead {
  /** Latest summary; null until the first. */
  readonly summary: RunSummary | null;
  /** Failure of the work on it; null for none. */
  readonly failure: RunFailure | null;
  /** Identifiers of the incidents that it belongs to, oldest first. */
  readonly incidents: readonly string[];
  /** Results of checks, by slug; empty while it is open. */
  readonly checks: readonly CheckResult[];
}

/** Returns the stages of a run; none while it is open. Those after the cost wait for it. */
export function processingOf(run: ProcessedRun): readonly StageProgress[] {
  const { parts: { closing }, summary, failure, incidents, checks } = run;
  if (closing === null) return [];
  const { receivedAt } = closing;
  if (summary === null || !isCostCurrent(summary, run)) {
    return STAGES.map((stage) => waiting(stage, stage === "cost" ? failure : null, receivedAt));
  }
  const { finalAt = receivedAt, isCounted = false, awaitsChecks = false, judges = [] } = summary;
  const judgedAt = checks.reduce((latest, { at }) => Math.max(latest, at), 0);
  return [
    doneOrSkipped("cost", true, finalAt),
    awaitsChecks
      ? waiting("checks", failure, finalAt)
      : doneOrSkipped("checks", checks.length > 0, judgedAt || finalAt),
    doneOrSkipped("alerts", isCounted || incidents.length > 0, finalAt),
    doneOrSkipped("judge", judges.length > 0, finalAt),
  ];
}

function doneOrSkipped(stage: Stage, isDone: boolean, at: number): StageProgress {
  return { stage, state: isDone ? "done" : "skipped", attempts: isDone ? 1 : 0, at };
}

/** @param sinceMs time since which it waits, unless it has failed */
function waiting(stage: Stage, failure: RunFailure | null, sinceMs: number): StageProgress {
  if (failure?.work !== stage) return { stage, state: "pending", attempts: 0, at: sinceMs };
  const { tries, at, error } = failure;
  const state = isDead(failure) ? "dead" : tries === 0 ? "pending" : "retrying";
  return { stage, state, attempts: tries, at, error };
}

/**
 * The queues of pending runs. Closed runs go first, because a client waits for their cost; open
 * runs are processed when there is time.
 */
export const PENDING_LANES = ["closed", "open"] as const;

/** One of {@link PENDING_LANES}. */
export type PendingLane = typeof PENDING_LANES[number];

/** A run that waits to be processed. */
export interface PendingRun {
  /** The team. */
  readonly team: TeamId;
  /** The run. */
  readonly run: RunId;
}

/** A batch of pending runs of one lane, fairly distributed over teams. */
export interface PendingBatch {
  /** The runs, each once. */
  readonly runs: readonly PendingRun[];
  /** True if the lane is empty: no pending run, and no mark to acknowledge. */
  readonly isEmpty: boolean;
  /**
   * Removes the marks of these runs; later marks stay.
   *
   * @param again runs that failed on their own: their marks stay, and they are retried later
   */
  ack(again?: readonly PendingRun[]): Promise<void>;
}

/** Work on a run that failed permanently. */
export interface DeadStage extends PendingRun {
  /** Failure of the last try. */
  readonly failure: RunFailure;
}

/** Maximum dead stages listed per team. */
export const DEAD_STAGES_LISTED_MAX = 10;
