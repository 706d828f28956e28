/**
 * Queue of jobs that teams request: stored, advanced step by step, and awaited by callers.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import type { Problem } from "../domain/core/errors.ts";
import type { TeamJob } from "../domain/core/jobs.ts";
import { type JobType, keys } from "./base/keys.ts";
import { KeyedMutex } from "./base/keyed_mutex.ts";
import { LOST, untilCommitted } from "./base/retry.ts";
import { JobTurns } from "./job_turns.ts";
import { getEntry, getValue, type Store } from "./store.ts";
import type { Write } from "./writer/write.ts";

/** Waits until the runs stored before a job are in the indexes. */
export interface JobWaits {
  /** Advances the wait; see `PendingWaits`. */
  look(job: string, team: TeamId, version: string): Promise<"over" | "further" | "waits">;
}

/** Decision on a request for a job; a new job includes the rows to store with it. */
export type JobDecision<Job> =
  | { readonly kind: "stored"; readonly job: Job; readonly rows: Pick<Write, "sets" | "deletes"> }
  | { readonly kind: "replayed"; readonly job: Job }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Jobs of one type, of all teams. */
export abstract class JobQueue<Job extends TeamJob> {
  readonly #store: Store;
  readonly #type: JobType;
  readonly #waits: JobWaits;
  readonly #turns: JobTurns;
  readonly #locks = new KeyedMutex();
  /** Callers waiting in this process, by job. */
  readonly #waiting = new Map<string, Set<(job: Job) => void>>();

  /** Creates a queue; `now` returns unix milliseconds. */
  constructor(store: Store, type: JobType, waits: JobWaits, now: () => number) {
    this.#store = store;
    this.#type = type;
    this.#waits = waits;
    this.#turns = new JobTurns(
      store,
      keys.activeJobs(type),
      now,
      (team, id) => this.#step(team, id),
    );
  }

  /** Runs one step of a job that need not wait; returns the stored job, or null if not stored. */
  protected abstract advance(team: TeamId, job: Job, entry: Deno.AtomicCheck): Promise<Job | null>;

  /** Runs one step of the next job; returns false if no job can progress. */
  work(): Promise<boolean> {
    return this.#turns.work();
  }

  /** True if the last step found a job, including one that has to wait. */
  get underWay(): boolean {
    return this.#turns.underWay;
  }

  /** Reads a job of a team; null if the team has none with that id. */
  get(team: { readonly id: TeamId }, id: string): Promise<Job | null> {
    return getValue<Job>(this.#store, keys.job(this.#type, team.id, id));
  }

  /** Returns the job once it is done, or in its current state after `ms` milliseconds. */
  async waitUntilDone(team: { readonly id: TeamId }, job: Job, ms: number): Promise<Job> {
    const { promise, resolve } = Promise.withResolvers<Job | null>();
    const waiting = this.#waiting.get(job.id) ?? new Set();
    this.#waiting.set(job.id, waiting.add(resolve));
    const timer = setTimeout(resolve, ms, null);
    try {
      // The job may have finished before the caller registered.
      const current = await this.get(team, job.id);
      if (current === null || current.state === "done") return current ?? job;
      return await promise ?? await this.get(team, job.id) ?? job;
    } finally {
      clearTimeout(timer);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(job.id);
    }
  }

  /** Stores a job unless `decide` replays or refuses it; concurrent requests store only one. */
  protected async add(
    team: TeamId,
    decide: () => Promise<JobDecision<Job>>,
  ): Promise<JobDecision<Job>> {
    const decision = await this.#locks.take(
      team,
      () => untilCommitted("create a job", () => this.#tryToAdd(team, decide)),
    );
    if (decision.kind !== "refused") this.#store.workerSignal.raise();
    return decision;
  }

  async #tryToAdd(team: TeamId, decide: () => Promise<JobDecision<Job>>) {
    const version = await getEntry(this.#store, keys.jobs(this.#type, team));
    const decision = await decide();
    if (decision.kind !== "stored") return decision;
    const { job, rows } = decision;
    const committed = await this.#store.writer.commit({
      team,
      checks: [version],
      sets: [
        { key: version.key, value: true },
        { key: keys.job(this.#type, team, job.id), value: job },
        { key: keys.activeJob(this.#type, team, job.id), value: true },
        ...rows.sets ?? [],
      ],
      deletes: rows.deletes ?? [],
    });
    return committed === null ? LOST : decision;
  }

  async #step(team: TeamId, id: string): Promise<boolean> {
    const entry = await getEntry(this.#store, keys.job(this.#type, team, id));
    const job = entry.value as Job | null;
    if (job === null || job.state === "done") {
      await this.#store.writer.commit({ deletes: [keys.activeJob(this.#type, team, id)] });
      return true;
    }
    if (job.state === "waiting") {
      // While the job waits, its version is still the one of its creation.
      const waits = await this.#waits.look(id, team, entry.versionstamp ?? "");
      if (waits !== "over") return waits === "further";
    }
    const after = await this.advance(team, job, entry);
    if (after?.state === "done") {
      for (const resolve of this.#waiting.get(id) ?? []) resolve(after);
    }
    return true;
  }
}
