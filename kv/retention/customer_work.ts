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
import { JobTurns } from "../job_turns.ts";
import { PendingWaits } from "../runs/pending_queue.ts";
import { customerPart } from "../base/index_parts.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { RunUpdater } from "../summaries/run_updater.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import { getMany, listRows, type Store } from "../store.ts";
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

/** Sorts a range right behind the key it is appended to: `true` is behind every other part. */
const BEHIND = true;

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
  readonly #commits: RunUpdater;
  readonly #now: () => number;
  readonly #onDone: (job: CustomerDeletion) => void;
  /** By job. After a restart it begins anew, which finds what is left. */
  readonly #passed = new LRUCache<string, Passed>({ max: JOBS_MAX });
  readonly #marks: PendingWaits;
  /** Gives each team its turn. */
  readonly turns: JobTurns;

  /**
   * Works on nothing yet.
   *
   * @param onDone is told of each job that is brought to its end here
   */
  constructor(
    store: Store,
    commits: RunUpdater,
    now: () => number,
    onDone: (job: CustomerDeletion) => void,
  ) {
    this.#store = store;
    this.#commits = commits;
    this.#now = now;
    this.#onDone = onDone;
    this.#marks = new PendingWaits(store);
    this.turns = new JobTurns(
      store,
      keys.activeDeletions(),
      now,
      (team, id) => this.#step(team, id),
    );
  }

  async #step(team: TeamId, id: string): Promise<boolean> {
    const [entry] = await getMany(this.#store, [keys.deletion(team, id)]);
    const job = (entry?.value ?? null) as CustomerDeletion | null;
    const version = entry?.versionstamp ?? null;
    if (job === null || job.state === "done") {
      this.#passed.delete(id);
      await this.#store.writer.commit({ deletes: [keys.activeDeletion(team, id)] });
      return true;
    }
    if (job.state === "waiting") return await this.#begin(team, job, version);
    if (!await this.#deleteRuns(team, job) && !await this.#deleteSpend(team, job)) {
      await this.#finish(team, job, version);
    }
    return true;
  }

  /** Begins once every run that was stored before is in the index; answers false until then. */
  async #begin(team: TeamId, job: CustomerDeletion, version: string | null): Promise<boolean> {
    // As long as it waits, its version is of the moment it was made.
    const waits = await this.#marks.look(job.id, team, version ?? "");
    if (waits !== "over") return waits === "further";
    const key = keys.deletion(team, job.id);
    const running: CustomerDeletion = { ...job, state: "running" };
    const checks = [{ key, versionstamp: version }];
    await this.#store.writer.commit({ team, checks, sets: [{ key, value: running }] });
    return true;
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
        this.#commits.remove(
          team,
          [...some.keys()],
          (run) => this.#plan(team, job, run, found.get(run.id) ?? []),
        ),
    );
    const last = rows.at(-1)?.key;
    const rest = last === undefined ? passed.rest : { ...passed.rest, start: [...last, BEHIND] };
    this.#passed.set(job.id, { ...passed, rest, failed: passed.failed + failed });
    return last !== undefined;
  }

  /** All runs there are by now, so that it comes to an end however many come later. */
  async #wayOf(team: TeamId, job: CustomerDeletion): Promise<Passed> {
    const prefix = keys.runsBy(team, "customer", customerPart(job.customer));
    const [last] = await listRows(this.#store, { prefix }, { limit: 1, reverse: true });
    return {
      rest: { start: prefix, end: [...last?.key ?? prefix, BEHIND] },
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
    await this.#commits.adjust(team, async () => {
      const share = await customerShareOf(this.#store, team, customer, place);
      next = share.next;
      if (share.rows.length === 0) return null;
      const day = { key: keys.deletionCount(team, id, "days"), by: 1n };
      return { rows: share.rows, sums: share.isLast ? [day] : [] };
    });
    this.#passed.set(id, { ...passed, spend: next });
    return next !== null;
  }

  async #finish(team: TeamId, job: CustomerDeletion, version: string | null): Promise<void> {
    const counters = COUNTED.map((what) => keys.deletionCount(team, job.id, what));
    const [runs, events, days] = (await getMany(this.#store, counters)).map(({ value }) =>
      value instanceof Deno.KvU64 ? Number(value.value) : 0
    );
    const counts = { runs: runs ?? 0, events: events ?? 0, days: days ?? 0 };
    const done: CustomerDeletion = {
      ...job,
      ...counts,
      failed: this.#passed.get(job.id)?.failed ?? 0,
      state: "done",
      finishedAt: this.#now(),
    };
    const key = keys.deletion(team, job.id);
    const committed = await this.#store.writer.commit({
      team,
      checks: [{ key, versionstamp: version }],
      sets: [{ key, value: done }],
      deletes: [keys.activeDeletion(team, job.id), ...counters],
    });
    if (committed === null) return;
    this.#passed.delete(job.id);
    this.#onDone(done);
  }
}
