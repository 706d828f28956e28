/**
 * Deletes runs on request, and customers as work of the queue.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { CustomerDeletion, RunDeletion } from "../../domain/retention/retention.ts";
import { inTime } from "../base/retry.ts";
import {
  insertedKeys,
  isStored,
  type RunRef,
  type SummarizedHead,
  tombstoneOf,
} from "../runs/heads.ts";
import type { TeamCommit } from "../summaries/team_commit.ts";
import { countOf, getMany, listRows, newRowName } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { deleteRun, purge } from "./removal.ts";
import { createEntryCache } from "../../runtime/memory.ts";
import type { AuditEntry } from "../../domain/teams/audit_log.ts";
import { eraseCustomer, FIRST_INCIDENT, type IncidentPosition } from "../alerts/incident_work.ts";
import {
  ALL_ENTRIES,
  customerPart,
  type EntryRange,
  readEntries,
  type StoredEntry,
} from "../index/entries.ts";
import { keyParts, keys } from "../base/keys.ts";
import { createTeamJobs, type JobStep, type TeamJobDeps } from "../runs/team_jobs.ts";
import { customerShareOf, FIRST_DAY, type SpendPosition } from "./customer_spend.ts";
import { leaveFaulty } from "./expiry.ts";

/** Purge commits before a deletion responds: a small part of the deadline. */
const COMMITS_BEFORE_ANSWER = 20;

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

/** Dependencies of deletions. */
export interface DeletionDeps extends TeamJobDeps {
  /** Shared by all code that changes runs in this process. */
  readonly updater: TeamCommit;
}

/** Receipt of a deleted run; the original one if it was deleted before. */
interface DeletedRun {
  readonly kind: "stored" | "replayed";
  readonly receipt: RunDeletion;
}

export type DeletionStore = ReturnType<typeof createDeletionWork>["deletions"];

/**
 * Creates the store of deletions, and the handler of the work on customers. Each commit counts what
 * it deletes, so the receipt is exact even if the process ends between commits.
 */
export function createDeletionWork(deps: DeletionDeps) {
  const { store, updater, now } = deps;
  const jobs = createTeamJobs<CustomerDeletion>(deps, "deletion", step);
  /** Progress by job. After a restart, a job starts again and finds what remains. */
  const progresses = createEntryCache<string, Progress>(JOBS_MAX);

  async function deleteNow(at: RunRef, by: string): Promise<DeletedRun | null> {
    const { team, id } = at;
    const deletedAt = now();
    let receipt: RunDeletion | null = null;
    await updater.remove(team, [id], async (run) => {
      receipt = null;
      if (!isStored(run.head)) return null;
      const { change, events } = await deleteRun(run, { deletedAt, by });
      receipt = { run: id, deletedAt, by, events };
      const entry = { at: deletedAt, team, actor: by, action: "run.deleted", target: id } as const;
      const sets = [...change.rows.sets, ...auditRows({ ...entry, details: { events } })];
      return { ...change, rows: { ...change.rows, sets } };
    });
    // The work queue purges the rest of a very large run.
    await purge(at, COMMITS_BEFORE_ANSWER);
    if (receipt !== null) return { kind: "stored", receipt };
    const inserted = await getMany(store, insertedKeys(team, id));
    const tombstone = tombstoneOf(inserted.map(({ value }) => value));
    if (tombstone === null || tombstone.by === null) return null;
    return { kind: "replayed", receipt: tombstone };
  }

  async function step({ team, job, commit }: JobStep<CustomerDeletion>): Promise<void> {
    if (job.state === "waiting") return void await commit({ ...job, state: "running" });
    const isFurther = await deleteRuns(team, job) ||
      await deleteSpend(team, job) || await deleteIncidents(team, job);
    if (isFurther) return;
    const counters = COUNTED.map((name) => keys.deletionCount(team, job.id, name));
    const [runs = 0, events = 0, days = 0] = (await getMany(store, counters)).map(countOf);
    const failed = progresses.get(job.id)?.failed ?? 0;
    const counts = { runs, events, days, failed };
    await commit({ ...job, ...counts, state: "done", finishedAt: now() }, { deletes: counters });
  }

  /** Visits some runs of the customer and deletes them; returns false after the last one. */
  async function deleteRuns(team: TeamId, job: CustomerDeletion): Promise<boolean> {
    const [purgeMark] = await listRows(store, { prefix: keys.purgesOf(team) }, { limit: 1 });
    if (purgeMark !== undefined) {
      const run = { store, team, id: keyParts.run(purgeMark.key) };
      await purge(run, PURGE_COMMITS_PER_STEP);
      return true;
    }
    const progress = progresses.get(job.id) ?? await firstOf(team, job);
    const order = orderOf(team, job);
    const options = { limit: RUNS_PER_STEP };
    const { entries } = await readEntries(store, order, progress.remaining, options);
    const byRun = Map.groupBy(entries, ({ run }) => run);
    const failed = await leaveFaulty(
      byRun,
      (group) =>
        updater.remove(
          team,
          [...group.keys()],
          (run) => planRemoval(job, run, byRun.get(run.id) ?? []),
        ),
    );
    const last = entries.at(-1);
    const remaining = last === undefined
      ? progress.remaining
      : { ...progress.remaining, after: { at: last.at, run: last.run } };
    progresses.set(job.id, { ...progress, remaining, failed: progress.failed + failed });
    return last !== undefined;
  }

  /** Covers the runs that exist now, so that the job ends even if more runs arrive. */
  async function firstOf(team: TeamId, job: CustomerDeletion): Promise<Progress> {
    const options = { limit: 1, reverse: true };
    const { entries } = await readEntries(store, orderOf(team, job), ALL_ENTRIES, options);
    const [last] = entries;
    const before = last === undefined ? null : { at: last.at, run: `${last.run}${AFTER}` };
    const remaining = { after: null, before };
    return { remaining, failed: 0, spend: FIRST_DAY, incidents: FIRST_INCIDENT };
  }

  async function planRemoval(
    job: CustomerDeletion,
    run: SummarizedHead,
    removed: readonly StoredEntry[],
  ) {
    const { team, head: { parts: { opening } }, summary } = run;
    if (!isStored(run.head)) {
      return { run, before: summary, after: summary, rows: { sets: [], deletes: [], removed } };
    }
    // Runs stored after the request stay: the response promised that.
    if ((opening?.receivedAt ?? 0) > job.createdAt) return null;
    const deleted = { deletedAt: now(), by: job.createdBy };
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
  async function deleteSpend(team: TeamId, { id, customer }: CustomerDeletion): Promise<boolean> {
    const progress = progresses.get(id);
    const position = progress?.spend ?? null;
    if (progress === undefined || position === null) return false;
    const next = await updater.commitPlan(team, "clock", async () => {
      const share = await customerShareOf({ store, team }, customer, position);
      const day = { key: keys.deletionCount(team, id, "days"), by: 1n };
      const sums = share.isLast ? [day] : [];
      const isNothing = share.rows.length === 0;
      return {
        result: share.next,
        rows: isNothing ? null : { sets: [], deletes: [], spend: share.rows, sums },
      };
    });
    progresses.set(id, { ...progress, spend: next });
    return next !== null;
  }

  /** Deletes some incidents of the customer; returns false when none remains. */
  async function deleteIncidents(
    team: TeamId,
    { id, customer }: CustomerDeletion,
  ): Promise<boolean> {
    const progress = progresses.get(id);
    const position = progress?.incidents ?? null;
    if (progress === undefined || position === null) return false;
    const incidents = await eraseCustomer({ store, changes: updater }, team, customer, position);
    progresses.set(id, { ...progress, incidents });
    return incidents !== null;
  }

  const deletions = {
    get: jobs.get,
    waitUntilDone: jobs.waitUntilDone,
    /** Deletes a run immediately; null if the team has none with this id. */
    deleteRun: ({ id: team }: Team, id: RunId, by: string) =>
      inTime(deleteNow({ store, team, id }, by), store.deadlines),
    /** Two concurrent requests for one customer create one job. */
    /** Starts deleting a customer, or returns the same job in progress, or refuses one too many. */
    deleteCustomer({ id: team }: Team, customer: string, by: string) {
      const isSame = (other: CustomerDeletion) =>
        other.customer === customer && other.state !== "done";
      return jobs.add(team, isSame, () => {
        const job = newJob(customer, by, now());
        return Promise.resolve({ job, write: { sets: auditRows(jobEntry(team, job)) } });
      });
    },
  };
  return { deletions, handler: jobs.handler };
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
