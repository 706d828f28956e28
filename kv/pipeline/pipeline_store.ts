/**
 * The store as the worker behind the ingest sees it.
 *
 * @module
 */
import type { PipelineStore } from "../../domain/pipeline/pipeline.ts";
import type { Stage } from "../../domain/pipeline/stages.ts";
import { readDirty } from "./dirty.ts";
import { Projector } from "./projector.ts";
import { costFailed, deadStages, dueStages, nextDueMs, revive, settleStage } from "./stages.ts";
import type { Store } from "../store.ts";
import { TeamCommits } from "./team_commits.ts";

/**
 * Creates the worker's store.
 *
 * @param handled the stages behind the cost that have work to do
 * @param now unix milliseconds
 * @param commits shared with whoever else changes runs in this process
 */
export function createPipelineStore(
  store: Store,
  handled: ReadonlySet<Stage>,
  now: () => number,
  commits: TeamCommits = new TeamCommits(store),
): PipelineStore {
  const projector = new Projector(commits, handled, now, store.memory);
  return {
    takeDirty: (lane, runsMax) => readDirty(store, lane, runsMax, projector.isKnown),
    project: (team, runs) => projector.project(team, runs),
    projectFailed: (run, error) => costFailed(store, run, error, now()),
    dueStages: (nowMs, max) => dueStages(store, nowMs, max),
    nextDueMs: () => nextDueMs(store),
    async settleStage(task, error) {
      await settleStage(store, task, error, now());
      commits.bell.ring(task.team, [task.run]);
    },
    deadStages: () => deadStages(store),
    revive: (run) => revive(store, run, now()),
  };
}
