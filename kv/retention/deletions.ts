/**
 * Deletes runs and customers on request.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import type { DeletionStore, RunDeletion } from "../../domain/retention/deletion.ts";
import type { Team } from "../../domain/teams/team.ts";
import { inTime } from "../base/deadline.ts";
import { isStored, type RunAt } from "../runs/heads.ts";
import { insertedKeys, tombstoneOf } from "../runs/tombstone.ts";
import type { RunUpdater } from "../summaries/run_updater.ts";
import { getMany, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { CustomerDeletions } from "./customer_deletions.ts";
import { deleteRun, purge } from "./removal.ts";

/** Purge commits before a deletion responds: a small part of the deadline. */
const COMMITS_BEFORE_ANSWER = 20;

/** Creates the store; `updater` is shared by all code that changes runs in this process. */
export function createDeletionStore(
  store: Store,
  updater: RunUpdater,
  now: () => number,
): DeletionStore {
  return Object.assign(new CustomerDeletions(store, updater, now), {
    deleteRun: ({ id: team }: Team, id: RunId, by: string) =>
      inTime(deleteOne({ store, team, id }, updater, by, now()), store.deadlines),
  });
}

async function deleteOne(
  at: RunAt,
  updater: RunUpdater,
  by: string,
  nowMs: number,
): ReturnType<DeletionStore["deleteRun"]> {
  const { store, team, id } = at;
  let receipts: RunDeletion[] = [];
  await updater.remove(team, [id], async (run) => {
    receipts = [];
    if (!isStored(run.head)) return null;
    const { change, events } = await deleteRun(run, { deletedAt: nowMs, by });
    receipts = [{ run: id, deletedAt: nowMs, by, events }];
    const entry = { at: nowMs, team, actor: by, action: "run.deleted", target: id } as const;
    const sets = [...change.rows.sets, ...auditRows({ ...entry, details: { events } })];
    return { ...change, rows: { ...change.rows, sets } };
  });
  // The sweep purges the rest of a very large run.
  await purge(at, COMMITS_BEFORE_ANSWER);
  const [receipt] = receipts;
  if (receipt !== undefined) return { kind: "stored", receipt };
  const inserted = await getMany(store, insertedKeys(team, id));
  const tombstone = tombstoneOf(inserted.map(({ value }) => value));
  if (tombstone === null || tombstone.by === null) return null;
  return { kind: "replayed", receipt: tombstone };
}
