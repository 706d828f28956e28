/**
 * Deletes runs and customers on request.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type {
  CustomerDeletion,
  DeletionStore,
  RunDeletion,
} from "../../domain/retention/deletion.ts";
import type { Team } from "../../domain/teams/team.ts";
import { inTime } from "../base/deadline.ts";
import { isStored, type RunAt, type SummarizedHead } from "../runs/heads.ts";
import { insertedKeys, tombstoneOf } from "../runs/tombstone.ts";
import type { RunUpdater } from "../summaries/run_updater.ts";
import { countOf, getMany, listRows, newRowName, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { deleteRun, purge } from "./removal.ts";
import { LRUCache } from "lru-cache";
import { ACTIVE_JOBS_MAX, tooManyJobs } from "../../domain/core/jobs.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import {
  eraseCustomer,
  FIRST_INCIDENT,
  type IncidentPosition,
} from "../alerts/customer_erasure.ts";
import { ALL_ENTRIES, type EntryRange, readEntries, type StoredEntry } from "../index/entries.ts";
import { keyParts, keys } from "../base/keys.ts";
import { customerPart } from "../index/names.ts";
import { JobQueue } from "../job_queue.ts";
import { PendingWaits } from "../runs/pending_waits.ts";
import { customerShareOf, FIRST_DAY, type SpendPosition } from "./customer_spend.ts";
import { leaveFaulty } from "./expiry.ts";

/** Purge commits before a deletion responds: a small part of the deadline. */
const COMMITS_BEFORE_ANSWER = 20;

/** Creates the store; `updater` is shared by all code that changes runs in this process. */
export function createDeletionStore(
  store: Store,
  updater: RunUpdater,
  now: () => number,
): DeletionStore {
  return new Deletions(store, updater, now);
}

/** Runs of one step, about as many as fit into one commit. */
const RUNS_PER_STEP = 40;

/** Maximum commits of one step that purges a large run. */
const PURGE_COMMITS_PER_STEP = 10;

/** Counters of a running job; each is the last part of a key. */
const COUNTED = ["runs", "events", "days"] as const;

/** Appended to a run's id, it makes a text that sorts directly after that id. */
const AFTER = "~";

/** Progress of a job in this process. */
interface Progress {
  /** The customer's entries in the index that are not visited yet. */
  readonly remaining: EntryRange;
  /** Visited runs that could not be read. */
  readonly failed: number;
  /** Progress in the spend of removed runs; null when it is deleted. */
  readonly spend: SpendPosition | null;
  /** Progress in the team's incidents; null when those of the customer are deleted. */
  readonly incidents: IncidentPosition | null;
}

/** Jobs whose progress is kept. A job without progress starts again and finds what remains. */
const JOBS_MAX = 1_000;

/**
 * Customer deletion jobs of all teams. Each commit counts what it deletes, so the receipt is exact even
 * if the process ends between commits.
 */
class Deletions extends JobQueue<CustomerDeletion> implements DeletionStore {
  readonly #store: Store;
  readonly #updater: RunUpdater;
  readonly #now: () => number;
  /** Progress by job. After a restart, a job starts again and finds what remains. */
  readonly #progress = new LRUCache<string, Progress>({ max: JOBS_MAX });

  /** @param now returns unix milliseconds */
  constructor(store: Store, updater: RunUpdater, now: () => number) {
    super(store, "deletion", new PendingWaits(store), now);
    [this.#store, this.#updater, this.#now] = [store, updater, now];
  }

  deleteRun({ id: team }: Team, id: RunId, by: string): ReturnType<DeletionStore["deleteRun"]> {
    return inTime(this.#deleteRun({ store: this.#store, team, id }, by), this.#store.deadlines);
  }

  async #deleteRun(at: RunAt, by: string): ReturnType<DeletionStore["deleteRun"]> {
    const { store, team, id } = at;
    const deletedAt = this.#now();
    let receipt: RunDeletion | null = null;
    await this.#updater.remove(team, [id], async (run) => {
      receipt = null;
      if (!isStored(run.head)) return null;
      const { change, events } = await deleteRun(run, { deletedAt, by });
      receipt = { run: id, deletedAt, by, events };
      const entry = { at: deletedAt, team, actor: by, action: "run.deleted", target: id } as const;
      const sets = [...change.rows.sets, ...auditRows({ ...entry, details: { events } })];
      return { ...change, rows: { ...change.rows, sets } };
    });
    // The sweep purges the rest of a very large run.
    await purge(at, COMMITS_BEFORE_ANSWER);
    if (receipt !== null) return { kind: "stored", receipt };
    const inserted = await getMany(store, insertedKeys(team, id));
    const tombstone = tombstoneOf(inserted.map(({ value }) => value));
    if (tombstone === null || tombstone.by === null) return null;
    return { kind: "replayed", receipt: tombstone };
  }

  /** Two concurrent requests for one customer create one job. */
  deleteCustomer({ id: team }: Team, customer: string, by: string) {
    return this.add(team, async () => {
      const job = newJob(customer, by, this.#now());
      const range = { prefix: keys.activeJobs("deletion", team) };
      const active = await listRows(this.#store, range, { limit: ACTIVE_JOBS_MAX });
      const jobs = await Promise.all(
        active.map(({ key }) => this.get({ id: team }, keyParts.id(key))),
      );
      const same = jobs.find((other) => other?.customer === customer && other.state !== "done");
      if (same) return { kind: "replayed", job: same };
      if (active.length >= ACTIVE_JOBS_MAX) {
        return { kind: "refused", problem: tooManyJobs("customer deletions") };
      }
      return { kind: "stored", job, rows: { sets: auditRows(jobEntry(team, job)) } };
    });
  }

  protected async advance(
    team: TeamId,
    job: CustomerDeletion,
    entry: Deno.AtomicCheck,
  ): Promise<CustomerDeletion | null> {
    let after: CustomerDeletion = { ...job, state: "running" };
    let deletes: Deno.KvKey[] = [];
    if (job.state === "running") {
      const isFurther = await this.#deleteRuns(team, job) ||
        await this.#deleteSpend(team, job) || await this.#deleteIncidents(team, job);
      if (isFurther) return job;
      const counters = COUNTED.map((name) => keys.deletionCount(team, job.id, name));
      const [runs = 0, events = 0, days = 0] = (await getMany(this.#store, counters)).map(countOf);
      const failed = this.#progress.get(job.id)?.failed ?? 0;
      const counts = { runs, events, days, failed };
      after = { ...job, ...counts, state: "done", finishedAt: this.#now() };
      deletes = [keys.activeJob("deletion", team, job.id), ...counters];
    }
    const sets = [{ key: entry.key, value: after }];
    const committed = await this.#store.writer.commit({ team, checks: [entry], sets, deletes });
    return committed === null ? null : after;
  }

  /** Visits some runs of the customer and deletes them; returns false after the last one. */
  async #deleteRuns(team: TeamId, job: CustomerDeletion): Promise<boolean> {
    const [purgeMark] = await listRows(this.#store, { prefix: keys.purgesOf(team) }, { limit: 1 });
    if (purgeMark !== undefined) {
      const run = { store: this.#store, team, id: keyParts.run(purgeMark.key) };
      await purge(run, PURGE_COMMITS_PER_STEP);
      return true;
    }
    const progress = this.#progress.get(job.id) ?? await this.#rangeOf(team, job);
    const order = orderOf(team, job);
    const options = { limit: RUNS_PER_STEP };
    const { entries } = await readEntries(this.#store, order, progress.remaining, options);
    const found = Map.groupBy(entries, ({ run }) => run);
    const failed = await leaveFaulty(
      found,
      (group) =>
        this.#updater.remove(
          team,
          [...group.keys()],
          (run) => this.#plan(job, run, found.get(run.id) ?? []),
        ),
    );
    const last = entries.at(-1);
    const remaining = last === undefined
      ? progress.remaining
      : { ...progress.remaining, after: { at: last.at, run: last.run } };
    this.#progress.set(job.id, { ...progress, remaining, failed: progress.failed + failed });
    return last !== undefined;
  }

  /** Covers the runs that exist now, so that the job ends even if more runs arrive. */
  async #rangeOf(team: TeamId, job: CustomerDeletion): Promise<Progress> {
    const options = { limit: 1, reverse: true };
    const { entries } = await readEntries(this.#store, orderOf(team, job), ALL_ENTRIES, options);
    const [last] = entries;
    const before = last === undefined ? null : { at: last.at, run: `${last.run}${AFTER}` };
    const remaining = { after: null, before };
    return { remaining, failed: 0, spend: FIRST_DAY, incidents: FIRST_INCIDENT };
  }

  async #plan(job: CustomerDeletion, run: SummarizedHead, removed: readonly StoredEntry[]) {
    const { team, head: { parts: { opening } }, summary } = run;
    if (!isStored(run.head)) {
      return { run, before: summary, after: summary, rows: { sets: [], deletes: [], removed } };
    }
    // Runs stored after the request stay: the response promised that.
    if ((opening?.receivedAt ?? 0) > job.createdAt) return null;
    const deleted = { deletedAt: this.#now(), by: job.createdBy };
    const { change, events } = await deleteRun(run, deleted);
    const { sums = [], removed: others = [] } = change.rows;
    const counted = [
      { key: keys.deletionCount(team, job.id, "runs"), by: 1n },
      { key: keys.deletionCount(team, job.id, "events"), by: BigInt(events) },
    ];
    return {
      ...change,
      rows: { ...change.rows, sums: [...sums, ...counted], removed: [...others, ...removed] },
    };
  }

  /** Deletes some spend of removed runs of the customer; returns false when none remains. */
  async #deleteSpend(team: TeamId, { id, customer }: CustomerDeletion): Promise<boolean> {
    const progress = this.#progress.get(id);
    const position = progress?.spend ?? null;
    if (progress === undefined || position === null) return false;
    let next: SpendPosition | null = null;
    await this.#updater.adjust(team, async () => {
      const share = await customerShareOf({ store: this.#store, team }, customer, position);
      next = share.next;
      if (share.rows.length === 0) return null;
      const day = { key: keys.deletionCount(team, id, "days"), by: 1n };
      return { rows: share.rows, sums: share.isLast ? [day] : [] };
    });
    this.#progress.set(id, { ...progress, spend: next });
    return next !== null;
  }

  /** Deletes some incidents of the customer; returns false when none remains. */
  async #deleteIncidents(team: TeamId, { id, customer }: CustomerDeletion): Promise<boolean> {
    const progress = this.#progress.get(id);
    const position = progress?.incidents ?? null;
    if (progress === undefined || position === null) return false;
    const deps = { store: this.#store, changes: this.#updater };
    const incidents = await eraseCustomer(deps, team, customer, position);
    this.#progress.set(id, { ...progress, incidents });
    return incidents !== null;
  }
}

/** Returns the order of a customer's runs. */
function orderOf(team: TeamId, { customer }: CustomerDeletion): Deno.KvKey {
  return keys.runsBy(team, "customer", customerPart(customer));
}

/** Builds the audit log entry of a job, without the customer: the entry outlives the customer's data. */
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
