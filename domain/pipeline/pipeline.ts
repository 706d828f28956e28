/**
 * What the worker behind the ingest needs of the store, in the words of the domain.
 *
 * @module
 */
import type { Team, TeamId } from "../credentials.ts";
import type { RunId } from "../run/ids.ts";
import type { StageProgress } from "./stages.ts";

/**
 * The queues of dirty runs: closed runs go first, because somebody waits for their cost; what merely
 * goes on is looked at when there is time.
 */
export const DIRTY_LANES = ["closed", "open"] as const;

/** One of {@link DIRTY_LANES}. */
export type DirtyLane = typeof DIRTY_LANES[number];

/** A run of a team. */
export interface DirtyRun {
  /** The team. */
  readonly team: TeamId;
  /** The run. */
  readonly run: RunId;
}

/** The oldest marks of a lane. */
export interface DirtyRows {
  /** How many rows were read; none when the lane is empty. */
  readonly rows: number;
  /** The runs they name, each once. */
  readonly runs: readonly DirtyRun[];
  /** Forgets these marks, and no later ones. */
  settle(): Promise<void>;
}

/** A stage that is to run. */
export interface StageTask extends DirtyRun {
  /** When it was due, unix milliseconds. */
  readonly dueMs: number;
  /** Revision of the cost that the stage is about. */
  readonly revision: number;
  /** The stage and how it stands; null when the run needs none any more. */
  readonly stage: StageProgress | null;
}

/** A stage that was given up. */
export interface DeadStage extends DirtyRun {
  /** The stage, with the error of its last try. */
  readonly stage: StageProgress;
}

/** Dead stages of a team that are told at once. */
export const DEAD_STAGES_TOLD = 10;

/** Which stages of a team's runs were given up. */
export interface TeamDeadStages {
  /** By run, {@link DEAD_STAGES_TOLD} at most. */
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
export interface PipelineStore {
  /** Reads the oldest marks of a lane, of about so many runs. */
  takeDirty(lane: DirtyLane, runsMax: number): Promise<DirtyRows>;
  /**
   * Brings the summaries of a team's runs up to date, and the team's roll-ups by the difference.
   * Repeating it changes nothing.
   */
  project(team: TeamId, runs: readonly RunId[]): Promise<void>;
  /** Notes that the cost of a run could not be summed up; it is tried again later, or given up. */
  projectFailed(run: DirtyRun, error: unknown): Promise<void>;
  /** The stages that are due, oldest first. */
  dueStages(nowMs: number, max: number): Promise<readonly StageTask[]>;
  /** When the next stage is due, unix milliseconds; null when none waits. */
  nextDueMs(): Promise<number | null>;
  /** Notes what came of a task; `error` is null when it is done. */
  settleStage(task: StageTask, error: unknown): Promise<void>;
  /** The stages that were given up, by team and run. */
  deadStages(): AsyncIterable<DeadStage>;
  /** Gives a dead stage its tries back. Answers false when it is not dead. */
  revive(run: DirtyRun): Promise<boolean>;
}
