/**
 * Working on jobs that delete everything of a customer.
 *
 * What a step deletes is counted in the commit that deletes it, so the receipt is exact whatever ends the
 * process in between.
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

/** Runs of one step: those of one commit, more or less. */
const RUNS_PER_STEP = 40;

/** Commits of one step that purge a large run. */
const PURGE_COMMITS_PER_STEP = 10;

/** What a job counts while it is at it; each is the last part of a key. */
const COUNTED = ["runs", "events", "days"] as const;

/** Sorts a range right after the key it is appended to: `true` sorts after every other part. */
const AFTER = true;

/** How far a job is here. */
interface Passed {
  /** The rows of the index that are still ahead. */
  readonly rest: { readonly start: Deno.KvKey; readonly end: Deno.KvKey };
  /** How many of the runs behind could not be read. */
  readonly failed: number;
  /** How far the spend of older runs is deleted; null once all of it is. */
  readonly spend: SpendPlace | null;
}

/** Jobs whose way is remembered; another begins again, and finds what is left. */
const JOBS_MAX = 1_000;

/** Works on jobs. */
export class CustomerWork {
  readonly #store: Store;
  readonly #updater: RunUpdater;
  readonly #now: () => number;
  /** By job. After a restart it begins again, which finds what is left. */
  readonly #passed = new LRUCache<string, Passed>({ max: JOBS_MAX });

  /** Has worked on nothing yet; `now` is in unix milliseconds. */
  constructor(store: Store, updater: RunUpdater, now: () => number) {
    this.#store = store;
    this.#updater = updater;
    this.#now = now;
  }

  /** Takes a job a step further; returns it as it was stored, null when another process was faster. */
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

  /** Passes by some runs of the customer and deletes them; answers false behind the last one. */
  async #deleteRuns(team: TeamId, job: CustomerDeletion): Promise<boolean> {
    const [marked] = await listRows(this.#store, { prefix: keys.purgesOf(team) }, { limit: 1 });
    if (marked !== undefined) {
      await purge(this.#store, team, marked.key[2] as RunId, PURGE_COMMITS_PER_STEP);
      return true;
    }
    const passed = this.#passed.get(job.id) ?? await this.#wayOf(team, job);
    const rows = await listRows(this.#store, passed.rest, { limit: RUNS_PER_STEP });
    const found = new Map(rows.map(({ key }) => [key.at(-1) as RunId, key]));
    const failed = await leaveFaulty(
      found,
      (some) =>
        this.#updater.remove(
          team,
          [...some.keys()],
          (run) => this.#plan(team, job, run, found.get(run.id) ?? []),
        ),
    );
    const last = rows.at(-1)?.key;
    const rest = last === undefined ? passed.rest : { ...passed.rest, start: [...last, AFTER] };
    this.#passed.set(job.id, { ...passed, rest, failed: passed.failed + failed });
    return last !== undefined;
  }

  /** All runs there are by now, so that it comes to an end however many come later. */
  async #wayOf(team: TeamId, job: CustomerDeletion): Promise<Passed> {
    const prefix = keys.runsBy(team, "customer", customerPart(job.customer));
    const [last] = await listRows(this.#store, { prefix }, { limit: 1, reverse: true });
    return {
      rest: { start: prefix, end: [...last?.key ?? prefix, AFTER] },
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
    // What was stored since is not meant: its caller was told that it stays.
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

  /** Deletes some of what older runs of the customer came to; answers false when nothing is left. */
  async #deleteSpend(team: TeamId, { id, customer }: CustomerDeletion): Promise<boolean> {
    const passed = this.#passed.get(id);
    const place = passed?.spend ?? null;
    if (passed === undefined || place === null) return false;
    let next: SpendPlace | null = null;
    await this.#updater.adjust(team, async () => {
      const share = await customerShareOf(this.#store, team, customer, place);
      next = share.next;
      if (share.rows.length === 0) return null;
      const day = { key: keys.deletionCount(team, id, "days"), by: 1n };
      return { rows: share.rows, sums: share.isLast ? [day] : [] };
    });
    this.#passed.set(id, { ...passed, spend: next });
    return next !== null;
  }

  async #finish(
    team: TeamId,
    job: CustomerDeletion,
    entry: Deno.AtomicCheck,
  ): Promise<CustomerDeletion | null> {
    const counters = COUNTED.map((what) => keys.deletionCount(team, job.id, what));
    const [runs = 0, events = 0, days = 0] = (await getMany(this.#store, counters)).map(countOf);
    const failed = this.#passed.get(job.id)?.failed ?? 0;
    const counts = { runs, events, days, failed };
    const done = { ...job, ...counts, state: "done", finishedAt: this.#now() } as const;
    const deletes = [keys.activeDeletion(team, job.id), ...counters];
    return await this.#write(team, entry, done, deletes);
  }
}
