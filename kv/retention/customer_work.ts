/**
 * Runs the jobs that delete all data of a customer.
 *
 * Each commit counts what it deletes, so the receipt is exact even if the process ends between
 * commits.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { CustomerDeletion } from "../../domain/retention/deletion.ts";
import { keys } from "../base/keys.ts";
import { customerPart } from "../base/index_parts.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { RunUpdater } from "../summaries/run_updater.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import { countOf, getMany, listRows, type Store } from "../store.ts";
import { customerShareOf, FIRST_DAY, type SpendPlace } from "./customer_spend.ts";
import { leaveFaulty } from "./faulty_runs.ts";
import { purge } from "./purge.ts";
import { deleteRun } from "./removal.ts";

/** Runs of one step, about as many as fit into one commit. */
const RUNS_PER_STEP = 40;

/** Maximum commits of one step that purges a large run. */
const PURGE_COMMITS_PER_STEP = 10;

/** Counters of a running job; each is the last part of a key. */
const COUNTED = ["runs", "events", "days"] as const;

/**
 * Starts a range directly after the key it is appended to: `true` sorts after every other key part.
 */
const AFTER = true;

/** Progress of a job in this process. */
interface Progress {
  /** The index rows that are not visited yet. */
  readonly remaining: { readonly start: Deno.KvKey; readonly end: Deno.KvKey };
  /** Visited runs that could not be read. */
  readonly failed: number;
  /** Progress in the spend of removed runs; null when it is deleted. */
  readonly spend: SpendPlace | null;
}

/** Jobs whose progress is kept. A job without progress starts again and finds what remains. */
const JOBS_MAX = 1_000;

/** Advances customer deletion jobs. */
export class CustomerWork {
  readonly #store: Store;
  readonly #updater: RunUpdater;
  readonly #now: () => number;
  /** Progress by job. After a restart, a job starts again and finds what remains. */
  readonly #progress = new LRUCache<string, Progress>({ max: JOBS_MAX });

  /** @param now returns unix milliseconds */
  constructor(store: Store, updater: RunUpdater, now: () => number) {
    this.#store = store;
    this.#updater = updater;
    this.#now = now;
  }

  /**
   * Runs the next step of a job; returns the stored job, or null if another process took the step.
   */
  async advance(
    team: TeamId,
    job: CustomerDeletion,
    entry: Deno.AtomicCheck,
  ): Promise<CustomerDeletion | null> {
    if (job.state === "waiting") {
      return await this.#write(team, entry, { ...job, state: "running" });
    }
    if (await this.#deleteRuns(team, job) || await this.#deleteSpend(team, job)) return job;
    return await this.#finish(team, job, entry);
  }

  async #write(
    team: TeamId,
    entry: Deno.AtomicCheck,
    job: CustomerDeletion,
    deletes: readonly Deno.KvKey[] = [],
  ): Promise<CustomerDeletion | null> {
    const sets = [{ key: entry.key, value: job }];
    const committed = await this.#store.writer.commit({ team, checks: [entry], sets, deletes });
    return committed === null ? null : job;
  }

  /** Visits some runs of the customer and deletes them; returns false after the last one. */
  async #deleteRuns(team: TeamId, job: CustomerDeletion): Promise<boolean> {
    const [purgeMark] = await listRows(this.#store, { prefix: keys.purgesOf(team) }, { limit: 1 });
    if (purgeMark !== undefined) {
      await purge(this.#store, team, purgeMark.key[2] as RunId, PURGE_COMMITS_PER_STEP);
      return true;
    }
    const progress = this.#progress.get(job.id) ?? await this.#rangeOf(team, job);
    const rows = await listRows(this.#store, progress.remaining, { limit: RUNS_PER_STEP });
    const indexRows = new Map(rows.map(({ key }) => [key.at(-1) as RunId, key]));
    const failed = await leaveFaulty(
      indexRows,
      (group) =>
        this.#updater.remove(
          team,
          [...group.keys()],
          (run) => this.#plan(team, job, run, indexRows.get(run.id) ?? []),
        ),
    );
    const last = rows.at(-1)?.key;
    const remaining = last === undefined
      ? progress.remaining
      : { ...progress.remaining, start: [...last, AFTER] };
    this.#progress.set(job.id, { ...progress, remaining, failed: progress.failed + failed });
    return last !== undefined;
  }

  /** Covers the runs that exist now, so that the job ends even if more runs arrive. */
  async #rangeOf(team: TeamId, job: CustomerDeletion): Promise<Progress> {
    const prefix = keys.runsBy(team, "customer", customerPart(job.customer));
    const [last] = await listRows(this.#store, { prefix }, { limit: 1, reverse: true });
    return {
      remaining: { start: prefix, end: [...last?.key ?? prefix, AFTER] },
      failed: 0,
      spend: FIRST_DAY,
    };
  }

  async #plan(
    team: TeamId,
    job: CustomerDeletion,
    run: SummarizedHead,
    row: Deno.KvKey,
  ): Promise<RunUpdate | null> {
    const { head: { parts: { opening } }, summary } = run;
    if (!isStored(run.head)) {
      return { run, before: summary, after: summary, rows: { sets: [], deletes: [row] } };
    }
    // Runs stored after the request stay: the response promised that.
    if ((opening?.receivedAt ?? 0) > job.createdAt) return null;
    const deleted = { deletedAt: this.#now(), by: job.createdBy };
    const { change, events } = await deleteRun(this.#store, team, run, deleted);
    const { sums = [], deletes } = change.rows;
    const counted = [
      { key: keys.deletionCount(team, job.id, "runs"), by: 1n },
      { key: keys.deletionCount(team, job.id, "events"), by: BigInt(events) },
    ];
    return {
      ...change,
      rows: { ...change.rows, sums: [...sums, ...counted], deletes: [...deletes, row] },
    };
  }

  /** Deletes some spend of removed runs of the customer; returns false when none remains. */
  async #deleteSpend(team: TeamId, { id, customer }: CustomerDeletion): Promise<boolean> {
    const progress = this.#progress.get(id);
    const position = progress?.spend ?? null;
    if (progress === undefined || position === null) return false;
    let next: SpendPlace | null = null;
    await this.#updater.adjust(team, async () => {
      const share = await customerShareOf(this.#store, team, customer, position);
      next = share.next;
      if (share.rows.length === 0) return null;
      const day = { key: keys.deletionCount(team, id, "days"), by: 1n };
      return { rows: share.rows, sums: share.isLast ? [day] : [] };
    });
    this.#progress.set(id, { ...progress, spend: next });
    return next !== null;
  }

  async #finish(
    team: TeamId,
    job: CustomerDeletion,
    entry: Deno.AtomicCheck,
  ): Promise<CustomerDeletion | null> {
    const counters = COUNTED.map((name) => keys.deletionCount(team, job.id, name));
    const [runs = 0, events = 0, days = 0] = (await getMany(this.#store, counters)).map(countOf);
    const failed = this.#progress.get(job.id)?.failed ?? 0;
    const counts = { runs, events, days, failed };
    const done = { ...job, ...counts, state: "done", finishedAt: this.#now() } as const;
    const deletes = [keys.activeDeletion(team, job.id), ...counters];
    return await this.#write(team, entry, done, deletes);
  }
}
