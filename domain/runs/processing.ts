/**
 * What the worker behind the ingest needs of the store, in the words of the domain.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { RunId, TeamId } from "../core/ids.ts";
import type { Stage, StageProgress } from "./stages.ts";
import type { RunSummary } from "./summary.ts";

/**
 * The queues of dirty runs: closed runs go first, because somebody waits for their cost; what merely
 * goes on is looked at when there is time.
 */
export const PENDING_LANES = ["closed", "open"] as const;

/** One of {@link PENDING_LANES}. */
export type PendingLane = typeof PENDING_LANES[number];

/** A run of a team. */
export interface PendingRun {
  /** The team. */
  readonly team: TeamId;
  /** The run. */
  readonly run: RunId;
}

/** Runs of a lane that are dirty, of teams in turn. */
export interface PendingBatch {
  /** The runs, each once. */
  readonly runs: readonly PendingRun[];
  /** Whether nothing is left to do in the lane: no run, and no mark to forget. */
  readonly isEmpty: boolean;
  /**
   * Forgets the marks of these runs, and no later ones.
   *
   * @param again runs that failed by themselves: their marks stay, and they are tried again later
   */
  ack(again?: readonly PendingRun[]): Promise<void>;
}

/** A stage after finish that has work to do, with all that it works with. */
export interface RunnableStage {
  /** Which stage. */
  readonly name: Stage;
  /** Whether there is work to do for a run; otherwise the stage is skipped. */
  applies(summary: RunSummary): boolean;
  /** Does the work for one run. It may be called again for the same run. */
  run(run: PendingRun): Promise<void>;
}

/** A stage that is to run. */
export interface StageTask extends PendingRun {
  /** When it was due, unix milliseconds. */
  readonly dueMs: number;
  /** Revision of the cost that the stage is about. */
  readonly revision: number;
  /** The stage and how it stands; null when the run needs none any more. */
  readonly stage: StageProgress | null;
}

/** A stage that was given up. */
export interface DeadStage extends PendingRun {
  /** The stage, with the error of its last try. */
  readonly stage: StageProgress;
}

/** Dead stages of a team that are told at once. */
export const DEAD_STAGES_LISTED_MAX = 10;

/** Which stages of a team's runs were given up. */
export interface TeamDeadStages {
  /** By run, {@link DEAD_STAGES_LISTED_MAX} at most. */
  readonly stages: readonly DeadStage[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** Reads what was given up of a team. Its method rejects with `StorageUnavailable`. */
export interface DeadStageStore {
  /** The stages that were given up; a bounded number of rows is read. */
  ofTeam(team: Pick<Team, "id">): Promise<TeamDeadStages>;
}

/** The store as the worker sees it. Methods reject with `StorageUnavailable` when it fails. */
export interface ProcessingStore {
  /** Takes so many dirty runs of a lane at most, of teams in turn. */
  takePending(lane: PendingLane, runsMax: number): Promise<PendingBatch>;
  /**
   * Brings the summaries of a team's runs up to date, and the team's roll-ups by the difference.
   * Repeating it changes nothing.
   */
  project(team: TeamId, runs: readonly RunId[]): Promise<void>;
  /** Notes that the cost of a run could not be summed up; it is tried again later, or given up. */
  projectFailed(run: PendingRun, error: unknown): Promise<void>;
  /** Stages that are due, of teams in turn. */
  dueStages(nowMs: number, max: number): Promise<readonly StageTask[]>;
  /** When the next stage or what was put off is due, unix milliseconds; null when nothing waits. */
  nextDueMs(): Promise<number | null>;
  /** Leaves a stage as it is and tries it again later: its run cannot be read or written. */
  putOffStage(task: StageTask): void;
  /** Whether the store reads and writes; then it is a run that failed, and not the store. */
  isAlive(): Promise<boolean>;
  /** Notes what came of a task; `error` is null when it is done. */
  completeStage(task: StageTask, error: unknown): Promise<void>;
  /** The stages that were given up, by team and run. */
  deadStages(): AsyncIterable<DeadStage>;
  /** Gives a dead stage its tries back. Answers false when it is not dead. */
  revive(run: PendingRun): Promise<boolean>;
}
