/**
 * The contract between the worker and the store.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { RunId, TeamId } from "../core/ids.ts";
import type { Stage, StageProgress } from "./stages.ts";
import type { RunSummary } from "./summary.ts";

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

/** A stage after finish, with its dependencies bound. */
export interface RunnableStage {
  /** Name of the stage. */
  readonly name: Stage;
  /**
   * Returns whether there is work to do for a run. Otherwise the stage is skipped in the commit that
   * summarizes the run, and costs nothing. It decides by the summary and the team's rules alone; a
   * promise is only for rules that are not in memory.
   */
  applies(team: TeamId, summary: RunSummary): boolean | Promise<boolean>;
  /** Does the work for one run. It may be called again for the same run. */
  run(run: PendingRun): Promise<void>;
}

/** A stage that is due to run. */
export interface StageTask extends PendingRun {
  /** Time it was due, unix milliseconds. */
  readonly dueMs: number;
  /** Cost revision that the stage processes. */
  readonly revision: number;
  /** Version of the stored stages; null for none. */
  readonly version: string | null;
  /** Progress of the stage; null if the run needs no stage any more. */
  readonly stage: StageProgress | null;
}

/** A stage that failed permanently. */
export interface DeadStage extends PendingRun {
  /** Progress of the stage, with the error of its last attempt. */
  readonly stage: StageProgress;
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
  /** Returns the due stages, fairly distributed over teams. */
  dueStages(nowMs: number, max: number): Promise<readonly StageTask[]>;
  /**
   * Returns when the next stage or postponed work is due, unix milliseconds; null if nothing waits.
   */
  nextDueMs(): Promise<number | null>;
  /** Postpones a stage whose run can be neither read nor written. */
  postponeStage(task: StageTask): void;
  /** Returns the usual milliseconds of a commit. */
  commitMs(): number;
  /** Returns whether the store can read and write; if so, a failure was caused by the run. */
  isAlive(): Promise<boolean>;
  /** Records the outcome of a task; `error` is null on success. */
  completeStage(task: StageTask, error: unknown): Promise<void>;
  /** Returns the dead stages, by team and run. */
  deadStages(): AsyncIterable<DeadStage>;
  /** Resets the attempts of a dead stage. Returns false if the run has none. */
  revive(run: PendingRun): Promise<boolean>;
}
