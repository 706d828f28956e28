/**
 * Stores failures of the work on runs: of their projection, and of checks that are judged later.
 *
 * A run has at most one. It is retried when the row of its due time says so, until it is given up.
 *
 * @module
 */
import { kindLook } from "../../domain/alerts/look.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  DEAD_STAGES_LISTED_MAX,
  type DeadStage,
  type DeadStageStore,
  type PendingRun,
} from "../../domain/runs/processing.ts";
import { failureAfter, isDead, retryAt, type RunFailure } from "../../domain/runs/stages.ts";
import { keyParts, keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { dueSet } from "../clock/due_rows.ts";
import { eachRow, getEntry, listRows, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";

/** Maximum failures of a team that are read: few of them are dead. */
const FAILURES_READ_MAX = 500;

/** Returns the rows of a failure: of the next try, or of the look that reports that none follows. */
export function failureSets({ team, run }: PendingRun, failure: RunFailure): KvSet[] {
  const next = isDead(failure)
    ? dueSet({ at: failure.at, kind: "rule", team, name: kindLook("service") })
    : { key: keys.dueStage(retryAt(failure), team, run), value: true };
  return [{ key: keys.runFailure(team, run), value: failure }, next];
}

/** Records that the cost of a run could not be computed. */
export async function costFailed(
  store: Store,
  run: PendingRun,
  error: unknown,
  nowMs: number,
): Promise<void> {
  await change(store, run, (last) => failureAfter(last, "cost", error, nowMs));
}

/** Resets the attempts of work that is given up; returns false if the run has none. */
export function revive(store: Store, run: PendingRun, nowMs: number): Promise<boolean> {
  return change(
    store,
    run,
    (last) => last === null || !isDead(last) ? null : { ...last, tries: 0, at: nowMs },
  );
}

/** Replaces a failure; returns false if `to` returns null, which leaves it. */
function change(
  store: Store,
  run: PendingRun,
  to: (last: RunFailure | null) => RunFailure | null,
): Promise<boolean> {
  return untilCommitted("write a failure", async () => {
    const entry = await getEntry(store, keys.runFailure(run.team, run.run));
    const failure = to(entry.value as RunFailure | null);
    if (failure === null) return false;
    const write = { team: run.team, checks: [entry], sets: failureSets(run, failure) };
    return await store.writer.commit(write) === null ? LOST : true;
  });
}

/** Iterates over all work that is given up. */
export async function* deadStages(store: Store): AsyncGenerator<DeadStage> {
  for await (const row of eachRow<RunFailure>(store, { prefix: keys.failures() })) {
    if (isDead(row.value)) yield deadOf(row);
  }
}

/** Reads work of a team's runs that is given up, of its first 500 failures. */
export async function readDead(store: Store, team: TeamId): Promise<DeadStage[]> {
  const range = { prefix: keys.runFailures(team) };
  const rows = await listRows<RunFailure>(store, range, { limit: FAILURES_READ_MAX });
  return rows.filter(({ value }) => isDead(value)).map(deadOf);
}

/** Creates the store of dead stages as people read them. */
export function createDeadStageStore(store: Store): DeadStageStore {
  return {
    ofTeam: ({ id }) =>
      store.reads.run(id, async () => {
        const stages = await readDead(store, id);
        const hasMore = stages.length > DEAD_STAGES_LISTED_MAX;
        return { stages: stages.slice(0, DEAD_STAGES_LISTED_MAX), hasMore };
      }),
  };
}

function deadOf({ key, value: failure }: Deno.KvEntry<RunFailure>): DeadStage {
  return { team: keyParts.team(key), run: keyParts.run(key), failure };
}
