/**
 * Working on jobs that delete everything of a customer.
 *
 * What a step deletes is counted in the commit that deletes it, so the receipt is exact whatever ends the
 * process in between.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import type { CustomerDeletion } from "../../domain/retention/deletion.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { keys } from "../keys.ts";
import { isSummedUp } from "../pipeline/dirty.ts";
import { customerPart } from "../pipeline/run_index.ts";
import type { Change, TeamCommits } from "../pipeline/team_commits.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { shareOf } from "./customer_spend.ts";
import { purge } from "./purge.ts";
import { deleteRun } from "./removal.ts";

/** Jobs that go on side by side, a step each in turn. */
const JOBS_PER_TURN = 10;

/** Runs of one step: those of one commit, more or less. */
const RUNS_PER_STEP = 40;

/** What a job counts while it is at it; each is the last part of a key. */
const COUNTED = ["runs", "events", "days"] as const;

/** Works on jobs. */
export class CustomerWork {
  readonly #store: Store;
  readonly #commits: TeamCommits;
  readonly #now: () => number;
  readonly #onDone: (job: CustomerDeletion) => void;
  /** Whether there was a job to work on the last time. */
  underWay = false;

  /**
   * Works on nothing yet.
   *
   * @param onDone is told of each job that is brought to its end here
   */
  constructor(
    store: Store,
    commits: TeamCommits,
    now: () => number,
    onDone: (job: CustomerDeletion) => void,
  ) {
    this.#store = store;
    this.#commits = commits;
    this.#now = now;
    this.#onDone = onDone;
  }

  /** Takes each job that is under way a step further; answers whether any came further. */
  async some(): Promise<boolean> {
    const options = { limit: JOBS_PER_TURN };
    const rows = await listRows(this.#store, { prefix: keys.activeDeletions() }, options);
    this.underWay = rows.length > 0;
    let moved = false;
    for (const { key } of rows) {
      if (await this.#step(key[1] as TeamId, String(key[2]))) moved = true;
    }
    return moved;
  }

  async #step(team: TeamId, id: string): Promise<boolean> {
    const [entry] = await getMany(this.#store, [keys.deletion(team, id)]);
    const job = (entry?.value ?? null) as CustomerDeletion | null;
    if (job === null || job.state === "done") {
      await this.#store.writer.commit({ deletes: [keys.activeDeletion(team, id)] });
      return true;
    }
    // A job that waits is as it was made: its version is of that moment.
    const version = entry?.versionstamp ?? "";
    if (job.state === "waiting" && !await isSummedUp(this.#store, version)) return false;
    if (!await this.#deleteRuns(team, job) && !await this.#deleteSpend(team, job)) {
      await this.#finish(team, job, entry?.versionstamp ?? null);
    }
    return true;
  }

  /** Deletes some runs of the customer; answers false when there are none. */
  async #deleteRuns(team: TeamId, job: CustomerDeletion): Promise<boolean> {
    const range = { prefix: keys.runsBy(team, "customer", customerPart(job.customer)) };
    const rows = await listRows(this.#store, range, { limit: RUNS_PER_STEP });
    const found = new Map(rows.map(({ key }) => [key.at(-1) as RunId, key]));
    await this.#commits.change(
      team,
      [...found.keys()],
      (run) => this.#plan(team, job, run, found.get(run.id) ?? []),
    );
    for (const { key } of await listRows(this.#store, { prefix: keys.purgesOf(team) })) {
      await purge(this.#store, team, key[2] as RunId);
    }
    return found.size > 0;
  }

  async #plan(
    team: TeamId,
    job: CustomerDeletion,
    run: SummarizedHead,
    row: Deno.KvKey,
  ): Promise<Change> {
    if (!isStored(run.head)) {
      const { summary } = run;
      return { run, before: summary, after: summary, rows: { sets: [], deletes: [row] } };
    }
    const events = run.ledger.totals.events;
    const receipt = { run: run.id, deletedAt: this.#now(), by: job.createdBy, events };
    const { change } = await deleteRun(this.#store, team, run, receipt);
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
  #deleteSpend(team: TeamId, { id, customer }: CustomerDeletion): Promise<boolean> {
    return this.#commits.adjust(team, async () => {
      const share = await shareOf(this.#store, team, customer);
      if (share === null) return null;
      const day = { key: keys.deletionCount(team, id, "days"), by: 1n };
      return { rows: share.rows, sums: share.isLast ? [day] : [] };
    });
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
    if (committed !== null) this.#onDone(done);
  }
}
