/**
 * The stages behind a run's close: one after the other, each tried again until it is done or given up.
 *
 * @module
 */

/** The stages in their order (contract 6). */
export const STAGES = ["cost", "checks", "alerts", "judge"] as const;

/** One of {@link STAGES}. */
export type Stage = typeof STAGES[number];

/**
 * How a stage stands: `skipped` when nothing is set up for it, `retrying` after a failure that will be
 * tried again, `dead` once it was given up.
 */
export type StageState = "pending" | "done" | "skipped" | "retrying" | "dead";

/** A stage of one run. */
export interface StageProgress {
  /** Which. */
  readonly stage: Stage;
  /** How it stands. */
  readonly state: StageState;
  /** How often it was tried. */
  readonly attempts: number;
  /** When it last changed, unix milliseconds. */
  readonly at: number;
  /** What went wrong the last time, when something did. */
  readonly error?: string | undefined;
}

/** The stages of one run, with the revision of the cost they are about. */
export interface Processing {
  /** Revision of the cost. */
  readonly revision: number;
  /** All stages in order. */
  readonly stages: readonly StageProgress[];
}

/** Tries of a stage before it is given up. */
export const STAGE_ATTEMPTS_MAX = 8;

/** Milliseconds before the second try; each further pause is twice as long. */
export const STAGE_BACKOFF_MS = 1_000;

/** Characters kept of an error's text. */
export const STAGE_ERROR_CHARS_MAX = 500;

/** The stages of a run whose cost has just become final. */
export function stagesAfterCost(
  revision: number,
  handled: ReadonlySet<Stage>,
  nowMs: number,
): Processing {
  const stages = STAGES.map((stage): StageProgress => {
    if (stage === "cost") return { stage, state: "done", attempts: 1, at: nowMs };
    return { stage, state: handled.has(stage) ? "pending" : "skipped", attempts: 0, at: nowMs };
  });
  return { revision, stages };
}

/** The stage that is to run next, or null when all are settled. A dead one holds up those behind it. */
export function nextStage({ stages }: Processing): StageProgress | null {
  const next = stages.find(({ state }) => state !== "done" && state !== "skipped");
  return next === undefined || next.state === "dead" ? null : next;
}

/** Notes that a stage is done. */
export function stageDone(processing: Processing, stage: Stage, nowMs: number): Processing {
  return change(processing, stage, (known) => ({
    stage,
    state: "done",
    attempts: known.attempts + 1,
    at: nowMs,
  }));
}

/** Notes that a stage failed; the last try that is allowed gives it up. */
export function stageFailed(
  processing: Processing,
  stage: Stage,
  error: unknown,
  nowMs: number,
): Processing {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return change(processing, stage, (known) => {
    const attempts = known.attempts + 1;
    const state = attempts >= STAGE_ATTEMPTS_MAX ? "dead" : "retrying";
    return { stage, state, attempts, at: nowMs, error: message.slice(0, STAGE_ERROR_CHARS_MAX) };
  });
}

/** Gives a dead stage its tries back. */
export function stageRevived(processing: Processing, stage: Stage, nowMs: number): Processing {
  return change(
    processing,
    stage,
    ({ error }) => ({ stage, state: "pending", attempts: 0, at: nowMs, error }),
  );
}

/** When a stage may run, unix milliseconds. */
export function stageDueAt({ state, attempts, at }: StageProgress): number {
  return state === "retrying" ? at + STAGE_BACKOFF_MS * 2 ** (attempts - 1) : at;
}

function change(
  processing: Processing,
  stage: Stage,
  to: (known: StageProgress) => StageProgress,
): Processing {
  const stages = processing.stages.map((known) => known.stage === stage ? to(known) : known);
  return { ...processing, stages };
}
