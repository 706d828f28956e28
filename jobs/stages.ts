/**
 * The stages after finish that have work to do.
 *
 * @module
 */
import type { PendingRun, RunnableStage } from "../domain/runs/processing.ts";
import type { Stage } from "../domain/runs/stages.ts";
import type { RunSummary } from "../domain/runs/summary.ts";

/** A stage after finish. */
interface StageDefinition<Deps, Config> {
  readonly name: Exclude<Stage, "cost">;
  /** Returns whether there is work to do for a run; a stage without any is skipped and costs nothing. */
  applies(summary: RunSummary, config: Config): boolean;
  /** Does the work for one run. It may be called again for the same run. */
  run(deps: Deps, run: PendingRun): Promise<void>;
}

/** What stages work with; none needs anything yet. */
export type StageDeps = Readonly<Record<never, never>>;

/** What decides where stages apply; nothing yet. */
export type StageConfig = Readonly<Record<never, never>>;

/** All stages that have work to do: none yet, so all of them are skipped. */
const DEFINITIONS: readonly StageDefinition<StageDeps, StageConfig>[] = [];

/** Builds the stages that the worker runs. */
export function createStages(deps: StageDeps, config: StageConfig): readonly RunnableStage[] {
  return DEFINITIONS.map((stage) => ({
    name: stage.name,
    applies: (summary) => stage.applies(summary, config),
    run: (run) => stage.run(deps, run),
  }));
}
