/**
 * The stages after finish. They run in sequence, and each is retried until it is done or given up.
 *
 * @module
 */

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

/** Stages of one run, with the cost revision they process. */
export interface Processing {
  /** Cost revision. */
  readonly revision: number;
  /** All stages in order. */
  readonly stages: readonly StageProgress[];
}

/** Maximum attempts before a stage is given up. */
export const STAGE_ATTEMPTS_MAX = 8;

/** Milliseconds before the second attempt; each further delay doubles. */
export const STAGE_BACKOFF_MS = 1_000;

/** Maximum characters stored of an error message. */
export const STAGE_ERROR_CHARS_MAX = 500;

const COST: ReadonlySet<Stage> = new Set(["cost"]);

/**
 * Returns the stages of a run whose cost has just become final.
 *
 * @param handled stages that have work to do
 * @param done stages that were done with the cost
 */
export function stagesAfterCost(
  revision: number,
  handled: ReadonlySet<Stage>,
  nowMs: number,
  done: ReadonlySet<Stage> = COST,
): Processing {
  const stages = STAGES.map((stage): StageProgress => {
    if (done.has(stage)) return { stage, state: "done", attempts: 1, at: nowMs };
    return { stage, state: handled.has(stage) ? "pending" : "skipped", attempts: 0, at: nowMs };
  });
  return { revision, stages };
}

/**
 * Returns the stage to run next, or null if there is none. A dead stage blocks the stages after it.
 */
export function nextStage({ stages }: Processing): StageProgress | null {
  const next = stages.find(({ state }) => state !== "done" && state !== "skipped");
  return next === undefined || next.state === "dead" ? null : next;
}

/** Records that a stage is done. */
export function stageDone(processing: Processing, stage: Stage, nowMs: number): Processing {
  return change(processing, stage, (progress) => ({
    stage,
    state: "done",
    attempts: progress.attempts + 1,
    at: nowMs,
  }));
}

/** Records that a stage failed; after the last allowed attempt it is dead. */
export function stageFailed(
  processing: Processing,
  stage: Stage,
  error: unknown,
  nowMs: number,
): Processing {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return change(processing, stage, (progress) => {
    const attempts = progress.attempts + 1;
    const state = attempts >= STAGE_ATTEMPTS_MAX ? "dead" : "retrying";
    return { stage, state, attempts, at: nowMs, error: message.slice(0, STAGE_ERROR_CHARS_MAX) };
  });
}

/** Resets the attempts of a dead stage. */
export function stageRevived(processing: Processing, stage: Stage, nowMs: number): Processing {
  return change(
    processing,
    stage,
    ({ error }) => ({ stage, state: "pending", attempts: 0, at: nowMs, error }),
  );
}

/** Returns the earliest time a stage may run, unix milliseconds. */
export function stageDueAt({ state, attempts, at }: StageProgress): number {
  return state === "retrying" ? at + STAGE_BACKOFF_MS * 2 ** (attempts - 1) : at;
}

function change(
  processing: Processing,
  stage: Stage,
  to: (progress: StageProgress) => StageProgress,
): Processing {
  const stages = processing.stages.map((progress) =>
    progress.stage === stage ? to(progress) : progress
  );
  return { ...processing, stages };
}
