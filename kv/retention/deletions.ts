/**
 * Deleting runs on demand, and the jobs that delete everything of a customer.
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

/** Commits that purge a run's rows before its deletion is answered: a small part of the deadline. */
const COMMITS_BEFORE_ANSWER = 20;

/** The keys of these jobs. */
const JOB_KEYS: JobKeys = {
  all: keys.deletions,
  job: keys.deletion,
  active: keys.activeDeletions,
  activeJob: keys.activeDeletion,
};

/** Creates the store; `updater` is shared with whoever else changes runs in this process. */
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

  /** Of two requests at once for one customer one makes the job. */
  deleteCustomer({ id: team }: Team, customer: string, by: string) {
    return this.add(team, async () => {
      const job = newJob(customer, by, this.#now());
      const range = { prefix: keys.activeDeletionsOf(team) };
      const active = await listRows(this.#store, range, { limit: ACTIVE_JOBS_MAX });
      const jobs = await Promise.all(
        active.map(({ key }) => this.get({ id: team }, String(key.at(-1)))),
      );
      const same = jobs.find((known) => known?.customer === customer && known.state !== "done");
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
  let made: RunDeletion[] = [];
  await updater.remove(team, [id], async (run) => {
    made = [];
    if (!isStored(run.head)) return null;
    const { change, receipt } = await deleteRun(store, team, run, { deletedAt: nowMs, by });
    if (receipt === null) return change;
    made = [receipt];
    const sets = [...change.rows.sets, ...auditRows(deletedEntry(team, receipt, by))];
    return { ...change, rows: { ...change.rows, sets } };
  });
  const [receipt] = made;
  const wanted = [keys.purge(team, id), ...insertedKeys(team, id)];
  const [mark, ...inserted] = await getMany(store, wanted);
  // What is left of a very large run goes with the next look of the sweep's job.
  if (mark?.versionstamp) {
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
