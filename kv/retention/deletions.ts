/**
 * Deleting runs on demand, and the jobs that delete everything of a customer.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { ACTIVE_JOBS_MAX, tooManyJobs } from "../../domain/core/jobs.ts";
import type {
  CustomerDeletion,
  DeletionStore,
  RunDeletion,
} from "../../domain/retention/deletion.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import { inTime } from "../base/deadline.ts";
import { JobWaiters } from "../base/job_waiters.ts";
import { keys } from "../base/keys.ts";
import { COMMIT_ATTEMPTS_MAX } from "../base/limits.ts";
import { newRowName } from "../base/names.ts";
import type { RunUpdater } from "../summaries/run_updater.ts";
import { isStored } from "../runs/heads.ts";
import { insertedKeys, tombstoneOf } from "../runs/tombstone.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { CustomerWork } from "./customer_work.ts";
import { purge } from "./purge.ts";
import { deleteRun } from "./removal.ts";

/** Commits that purge a run's rows before its deletion is answered: a small part of the deadline. */
const COMMITS_BEFORE_ANSWER = 20;

/** Creates the store; `commits` is shared with whoever else changes runs in this process. */
export function createDeletionStore(
  store: Store,
  commits: RunUpdater,
  now: () => number,
): DeletionStore {
  const waiters = new JobWaiters<CustomerDeletion>();
  const work = new CustomerWork(store, commits, now, (job) => waiters.tell(job));
  const turns = new KeyedMutex();
  return {
    deleteRun: (team, id, by) =>
      inTime(deleteOne(store, commits, team.id, id, by, now()), store.deadlines),
    async deleteCustomer(team, customer, by) {
      const newOne = () => newJob(customer, by, now());
      const made = await turns.take(team.id, () => findOrMake(store, team.id, newOne));
      if (made.kind !== "refused") store.workerSignal.raise();
      return made;
    },
    get: (team, id) => readJob(store, team.id, id),
    async waitUntilDone(team, job, ms) {
      using waiter = waiters.waitFor(job.id, ms);
      // It may have been done before anybody waited.
      const known = await readJob(store, team.id, job.id);
      if (known === null || known.state === "done") return known ?? job;
      return await waiter.done ?? await readJob(store, team.id, job.id) ?? job;
    },
    work: () => work.turns.work(),
    get underWay() {
      return work.turns.underWay;
    },
  };
}

async function deleteOne(
  store: Store,
  commits: RunUpdater,
  team: TeamId,
  id: RunId,
  by: string,
  nowMs: number,
): ReturnType<DeletionStore["deleteRun"]> {
  let made: RunDeletion[] = [];
  await commits.remove(team, [id], async (run) => {
    made = [];
    if (!isStored(run.head)) return null;
    const { change, receipt } = await deleteRun(store, team, run, { deletedAt: nowMs, by });
    if (receipt === null) return change;
    made = [receipt];
    const sets = [...change.rows.sets, ...auditRows(deletedEntry(team, receipt, by))];
    return { ...change, rows: { ...change.rows, sets } };
  });
  const [receipt] = made;
  const [mark, ...inserted] = await getMany(store, [
    keys.purge(team, id),
    ...insertedKeys(team, id),
  ]);
  // What is left of a very large run goes with the next look of the sweep's job.
  if (mark !== undefined && mark.versionstamp !== null) {
    await purge(store, team, id, COMMITS_BEFORE_ANSWER);
  }
  if (receipt !== undefined) return { kind: "stored", receipt };
  const known = tombstoneOf(inserted.map(({ value }) => value));
  return known === null || known.by === null ? null : { kind: "replayed", receipt: known };
}

/** What the audit log says of a deleted run. */
function deletedEntry(team: TeamId, receipt: RunDeletion, actor: string): AuditEntry {
  const { run, deletedAt, events } = receipt;
  const target = run;
  return { at: deletedAt, team, actor, action: "run.deleted", target, details: { events } };
}

/** What it says of a job: not whom it deletes, since it is kept for longer than anything of them. */
function jobEntry(team: TeamId, { id, createdAt, createdBy }: CustomerDeletion): AuditEntry {
  const [at, actor] = [createdAt, createdBy];
  return { at, team, actor, action: "customer.deleted", target: id, details: {} };
}

function newJob(customer: string, createdBy: string, nowMs: number): CustomerDeletion {
  return {
    id: newRowName(),
    customer,
    state: "waiting",
    createdAt: nowMs,
    createdBy,
    finishedAt: null,
    runs: 0,
    events: 0,
    days: 0,
    failed: 0,
  };
}

/** Finds the job of a customer under way, or makes one: of two requests at once one makes it. */
async function findOrMake(
  store: Store,
  team: TeamId,
  newOne: () => CustomerDeletion,
): ReturnType<DeletionStore["deleteCustomer"]> {
  const versionKey = keys.deletions(team);
  for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt++) {
    const [version] = await getMany(store, [versionKey]);
    const job = newOne();
    const range = { prefix: keys.activeDeletionsOf(team) };
    const active = await listRows(store, range, { limit: ACTIVE_JOBS_MAX });
    const jobs = await Promise.all(active.map(({ key }) => readJob(store, team, String(key[2]))));
    const same = jobs.find((known) => known?.customer === job.customer && known.state !== "done");
    if (same) return { kind: "replayed", job: same };
    if (active.length >= ACTIVE_JOBS_MAX) {
      return { kind: "refused", problem: tooManyJobs("customer deletions") };
    }
    const committed = await store.writer.commit({
      team,
      checks: [{ key: versionKey, versionstamp: version?.versionstamp ?? null }],
      sets: [
        { key: versionKey, value: true },
        { key: keys.deletion(team, job.id), value: job },
        { key: keys.activeDeletion(team, job.id), value: true },
        ...auditRows(jobEntry(team, job)),
      ],
    });
    if (committed !== null) return { kind: "stored", job };
  }
  throw new StorageUnavailable("Cannot make a job: other writers were always first");
}

async function readJob(store: Store, team: TeamId, id: string): Promise<CustomerDeletion | null> {
  const [entry] = await getMany(store, [keys.deletion(team, id)]);
  return (entry?.value ?? null) as CustomerDeletion | null;
}
