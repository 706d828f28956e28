/**
 * Definitions of the stages after finish.
 *
 * @module
 */
import type { PendingRun, RunnableStage } from "../domain/runs/processing.ts";
import type { Stage } from "../domain/runs/stages.ts";
import type { RunSummary } from "../domain/runs/summary.ts";

/** A stage after finish. */
interface StageDefinition<Deps, Config> {
  readonly name: Exclude<Stage, "cost">;
  /**
   * Returns whether there is work to do for a run; otherwise the stage is skipped and costs
   * nothing.
   */
  applies(summary: RunSummary, config: Config): boolean;
  /** Does the work for one run. It may be called again for the same run. */
  run(deps: Deps, run: PendingRun): Promise<void>;
}

/** Dependencies of the stages; none yet. */
export type StageDeps = Readonly<Record<never, never>>;

/** Configuration that decides where stages apply; none yet. */
export type StageConfig = Readonly<Record<never, never>>;

/** All defined stages: none yet, so every stage is skipped. */
const DEFINITIONS: readonly StageDefinition<StageDeps, StageConfig>[] = [];

/** Builds the stages that the worker runs. */
export function createStages(deps: StageDeps, config: StageConfig): readonly RunnableStage[] {
  return DEFINITIONS.map((stage) => ({
    name: stage.name,
    applies: (summary) => stage.applies(summary, config),
    run: (run) => stage.run(deps, run),
  }));
}
