/**
 * Deletes runs on request, and runs the jobs that delete all data of a customer.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { ACTIVE_JOBS_MAX, tooManyJobs } from "../../domain/core/jobs.ts";
import type {
  CustomerDeletion,
  DeletionStore,
  RunDeletion,
} from "../../domain/retention/deletion.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import { inTime } from "../base/deadline.ts";
import { keys } from "../base/keys.ts";
import { type JobKeys, JobQueue } from "../job_queue.ts";
import { PendingWaits } from "../runs/pending_waits.ts";
import { newRowName } from "../base/names.ts";
import type { RunUpdater } from "../summaries/run_updater.ts";
import { isStored } from "../runs/heads.ts";
import { insertedKeys, tombstoneOf } from "../runs/tombstone.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { CustomerWork } from "./customer_work.ts";
import { purge } from "./purge.ts";
import { deleteRun } from "./removal.ts";

/** Purge commits before a deletion responds: a small part of the deadline. */
const COMMITS_BEFORE_ANSWER = 20;

const JOB_KEYS: JobKeys = {
  all: keys.deletions,
  job: keys.deletion,
  active: keys.activeDeletions,
  activeJob: keys.activeDeletion,
};

/** Creates the store; `updater` is shared by all code that changes runs in this process. */
export function createDeletionStore(
  store: Store,
  updater: RunUpdater,
  now: () => number,
): DeletionStore {
  return new Deletions(store, updater, now);
}

class Deletions extends JobQueue<CustomerDeletion> implements DeletionStore {
  readonly #store: Store;
  readonly #updater: RunUpdater;
  readonly #now: () => number;
  readonly #work: CustomerWork;

  constructor(store: Store, updater: RunUpdater, now: () => number) {
    super(store, JOB_KEYS, new PendingWaits(store), now);
    this.#store = store;
    this.#updater = updater;
    this.#now = now;
    this.#work = new CustomerWork(store, updater, now);
  }

  protected advance(team: TeamId, job: CustomerDeletion, entry: Deno.AtomicCheck) {
    return this.#work.advance(team, job, entry);
  }

  deleteRun(team: Team, id: RunId, by: string) {
    const deleted = deleteOne(this.#store, this.#updater, team.id, id, by, this.#now());
    return inTime(deleted, this.#store.deadlines);
  }

  /** Two concurrent requests for one customer create one job. */
  deleteCustomer({ id: team }: Team, customer: string, by: string) {
    return this.add(team, async () => {
      const job = newJob(customer, by, this.#now());
      const range = { prefix: keys.activeDeletionsOf(team) };
      const active = await listRows(this.#store, range, { limit: ACTIVE_JOBS_MAX });
      const jobs = await Promise.all(
        active.map(({ key }) => this.get({ id: team }, String(key.at(-1)))),
      );
      const same = jobs.find((other) => other?.customer === customer && other.state !== "done");
      if (same) return { kind: "replayed", job: same };
      if (active.length >= ACTIVE_JOBS_MAX) {
        return { kind: "refused", problem: tooManyJobs("customer deletions") };
      }
      return { kind: "stored", job, rows: { sets: auditRows(jobEntry(team, job)) } };
    });
  }
}

async function deleteOne(
  store: Store,
  updater: RunUpdater,
  team: TeamId,
  id: RunId,
  by: string,
  nowMs: number,
): ReturnType<DeletionStore["deleteRun"]> {
  let receipts: RunDeletion[] = [];
  await updater.remove(team, [id], async (run) => {
    receipts = [];
    if (!isStored(run.head)) return null;
    const { change, receipt } = await deleteRun(store, team, run, { deletedAt: nowMs, by });
    if (receipt === null) return change;
    receipts = [receipt];
    const sets = [...change.rows.sets, ...auditRows(deletedEntry(team, receipt, by))];
    return { ...change, rows: { ...change.rows, sets } };
  });
  const [receipt] = receipts;
  const headKeys = [keys.purge(team, id), ...insertedKeys(team, id)];
  const [mark, ...inserted] = await getMany(store, headKeys);
  // The sweep purges the rest of a very large run.
  if (mark?.versionstamp) {
    await purge(store, team, id, COMMITS_BEFORE_ANSWER);
  }
  if (receipt !== undefined) return { kind: "stored", receipt };
  const tombstone = tombstoneOf(inserted.map(({ value }) => value));
  return tombstone === null || tombstone.by === null
    ? null
    : { kind: "replayed", receipt: tombstone };
}

/** Builds the audit log entry of a deleted run. */
function deletedEntry(team: TeamId, receipt: RunDeletion, actor: string): AuditEntry {
  const { run, deletedAt, events } = receipt;
  const target = run;
  return { at: deletedAt, team, actor, action: "run.deleted", target, details: { events } };
}

/**
 * Builds the audit log entry of a job, without the customer: the entry outlives the customer's
 * data.
 */
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
