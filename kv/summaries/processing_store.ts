/**
 * The store of the worker that processes stored runs.
 *
 * @module
 */
import type { ProcessingStore } from "../../domain/runs/processing.ts";
import { isAlive } from "../store.ts";
import { PutOff } from "../base/retry_later.ts";
import { PendingQueue } from "../runs/pending_queue.ts";
import { type ProcessingDeps, Projector } from "./projector.ts";
import { completeStage, costFailed, deadStages, DueStages, revive } from "../runs/stages.ts";

export function createProcessingStore(deps: ProcessingDeps): ProcessingStore {
  const { store, updater, now } = deps;
  const projector = new Projector(deps);
  const putOff = new PutOff(now);
  const queues = {
    closed: new PendingQueue(store, "closed", putOff, projector.isKnown),
    open: new PendingQueue(store, "open", putOff, projector.isKnown),
  };
  const stages = new DueStages(store, putOff);
  return {
    takePending: (lane, runsMax) => queues[lane].take(runsMax),
    project: (team, runs) => projector.project(team, runs),
    projectFailed: (run, error) => costFailed(store, run, error, now()),
    dueStages: (nowMs, max) => stages.take(nowMs, max),
    async nextDueMs() {
      const next = [await stages.nextDueMs(), putOff.nextMs()].filter((ms) => ms !== null);
      return next.length === 0 ? null : Math.min(...next);
    },
    async completeStage(task, error) {
      await completeStage(store, task, error, now());
      stages.done(task);
      updater.notifier.notify(task.team, [task.run]);
    },
    putOffStage: (task) => stages.putOff(task),
    isAlive: () => isAlive(store),
    deadStages: () => deadStages(store),
    revive: (run) => revive(store, run, now()),
  };
}
