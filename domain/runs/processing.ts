/**
 * The contract between the worker and the store.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { RunId, TeamId } from "../core/ids.ts";
import type { RunFailure, RunWork } from "./stages.ts";

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

/** A row that says when to check a run; a superfluous one is harmless. */
export interface DueRun extends PendingRun {
  /** Due time, unix milliseconds. */
  readonly dueMs: number;
  /** Version of the row. */
  readonly version: string;
}

/** Work on a run that is due. */
export interface RunTask extends DueRun {
  /** The work. */
  readonly work: RunWork;
  /** Failure of an earlier try; null for none. */
  readonly failure: RunFailure | null;
  /** Versions of the failure and the summary that the task is about; null for none. */
  readonly versions: { readonly failure: string | null; readonly summary: string | null };
}

/** Work on a run that failed permanently. */
export interface DeadStage extends PendingRun {
  /** Failure of the last try. */
  readonly failure: RunFailure;
}

/** Maximum dead stages listed per team. */
export const DEAD_STAGES_LISTED_MAX = 10;

/** Dead stages of a team's runs. */
export interface TeamDeadStages {
  /** Stages by run, {@link DEAD_STAGES_LISTED_MAX} at most. */
  readonly stages: readonly DeadStage[];
  /** True if there are more. */
  readonly hasMore: boolean;
}

/** Reads the dead stages of a team. Its method rejects with `StorageUnavailable`. */
export interface DeadStageStore {
  /** Returns the dead stages; reads a bounded number of rows. */
  ofTeam(team: Pick<Team, "id">): Promise<TeamDeadStages>;
}

/** The store as used by the worker. Its methods reject with `StorageUnavailable` when it fails. */
export interface ProcessingStore {
  /** Takes at most `runsMax` pending runs of a lane, fairly distributed over teams. */
  takePending(lane: PendingLane, runsMax: number): Promise<PendingBatch>;
  /**
   * Updates the summaries of a team's runs, and the team's roll-ups by the difference. The call is
   * idempotent.
   */
  project(team: TeamId, runs: readonly RunId[]): Promise<void>;
  /** Records that a run's cost could not be computed; it is retried later, or given up. */
  projectFailed(run: PendingRun, error: unknown): Promise<void>;
  /** Returns rows of runs that are due, fairly distributed over teams. */
  takeDue(nowMs: number, max: number): Promise<readonly DueRun[]>;
  /**
   * Returns when the next run or postponed work is due, unix milliseconds; null if nothing waits.
   */
  nextDueMs(): Promise<number | null>;
  /** Returns what a run needs; null if it waits for a later row, or for an operator. */
  begin(row: DueRun): Promise<RunTask | null>;
  /** Judges a run by its checks, as it is now; does nothing if it awaits none. */
  judge(task: RunTask): Promise<void>;
  /** Removes what is left of a task that succeeded. */
  complete(task: RunTask): Promise<void>;
  /** Records a failure; the work is retried later, or given up. */
  fail(task: RunTask, error: unknown): Promise<void>;
  /** Postpones a run that can be neither read nor written. */
  postpone(run: PendingRun): void;
  /** Returns the usual milliseconds of a commit. */
  commitMs(): number;
  /** Returns whether the store can read and write; if so, a failure was caused by the run. */
  isAlive(): Promise<boolean>;
}
