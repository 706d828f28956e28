/**
 * Queue of jobs that teams request: stored, advanced step by step, and awaited by callers.
 *
 * Jobs take turns: one step of one job per team. So another team's next step is at most as many
 * steps away as there are teams with jobs. Neither the number of a team's jobs nor their number of
 * steps matters.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import { isOfStore, type Problem } from "../domain/core/errors.ts";
import { ACTIVE_JOBS_MAX, type TeamJob } from "../domain/core/jobs.ts";
import { type JobType, keyParts, keys } from "./base/keys.ts";
import { KeyedMutex } from "../runtime/keyed_mutex.ts";
import { LOST, untilCommitted } from "./base/retry.ts";
import { Backoff } from "../runtime/backoff.ts";
import { getEntry, getValue, isAlive, listRows, type Store } from "./store.ts";
import type { Write } from "./writer/write.ts";

/** Waits until the runs stored before a job are in the indexes. */
export interface JobWaits {
  /** Advances the wait; see `PendingWaits`. */
  advance(job: string, team: TeamId, version: string): Promise<"over" | "further" | "waits">;
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
  get hasActiveJobs(): boolean {
    return this.#turns.hasActiveJobs;
  }

  /** Reads a job of a team; null if the team has none with that id. */
  get(team: { readonly id: TeamId }, id: string): Promise<Job | null> {
    return getValue<Job>(this.#store, keys.job(this.#type, team.id, id));
  }

  /** Returns the job once it is done, or in its current state after `ms` milliseconds. */
  async waitUntilDone(team: { readonly id: TeamId }, job: Job, ms: number): Promise<Job> {
    const endMs = performance.now() + ms;
    // Only this process announces the jobs that it completes.
    const lookMs = this.#store.limits.mayRepeat ? LOOK_MS : ms;
    const { promise, resolve } = Promise.withResolvers<Job>();
    const waiting = this.#waiting.get(job.id) ?? new Set();
    this.#waiting.set(job.id, waiting.add(resolve));
    try {
      for (;;) {
        // The job may have finished before the caller registered, or in another process.
        const current = await this.get(team, job.id) ?? job;
        const leftMs = endMs - performance.now();
        if (current.state === "done" || leftMs <= 0) return current;
        const done = await within(promise, Math.min(leftMs, lookMs));
        if (done !== null) return done;
      }
    } finally {
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
      // While the job waits, its version has not changed since its creation.
      const waits = await this.#waits.advance(id, team, entry.versionstamp ?? "");
      if (waits !== "over") return waits === "further";
    }
    const after = await this.advance(team, job, entry);
    if (after?.state === "done") {
      for (const resolve of this.#waiting.get(id) ?? []) resolve(after);
    }
    return true;
  }
}

/** Milliseconds between a caller's reads of a job that another process may complete. */
const LOOK_MS = 250;

/** Returns the result of a promise; null if it takes longer than `ms` milliseconds. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  const { promise: over, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, ms, null);
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Teams visited per call while none of their jobs can progress: each visit costs some reads. */
const VISITS_MAX = 10;

/** Sorts after every other key part. */
const AFTER_ALL = true;

/** Runs one step of a job; returns false if the job has to wait. */
type JobStep = (team: TeamId, id: string) => Promise<boolean>;

/** Iterates over the active jobs. */
export class JobTurns {
  readonly #store: Store;
  readonly #prefix: Deno.KvKey;
  readonly #step: JobStep;
  /** Jobs in backoff after their own failures. */
  readonly #backoff: Backoff;
  /** The team visited last; null at the start of a round. */
  #last: TeamId | null = null;
  #round = 0;
  /** True if the current round found a job (`#met`) and advanced one (`#moved`). */
  #met = false;
  #moved = false;
  /** True if the last pass found a job, including one that had to wait. */
  hasActiveJobs = false;

  /** Creates a schedule at its first team. The rows of jobs are `[...prefix, team, id]`. */
  constructor(store: Store, prefix: Deno.KvKey, now: () => number, step: JobStep) {
    this.#store = store;
    this.#prefix = prefix;
    this.#step = step;
    this.#backoff = new Backoff(now);
  }

  /**
   * Runs one step of one job.
   *
   * @returns false once a complete round found no job that could progress
   */
  async work(): Promise<boolean> {
    for (let visits = 0; visits < VISITS_MAX; visits++) {
      const job = await this.#next();
      if (job === null) {
        const hasMoved = this.#moved;
        this.hasActiveJobs = this.#met;
        [this.#met, this.#moved] = [false, false];
        if (!hasMoved) return false;
        continue;
      }
      if (this.#backoff.has(job.id)) continue;
      [this.#met, this.hasActiveJobs] = [true, true];
      if (!await this.#stepOf(job)) continue;
      this.#moved = true;
      return true;
    }
    return true;
  }

  async #stepOf({ team, id }: ActiveJob): Promise<boolean> {
    try {
      const hasMoved = await this.#step(team, id);
      this.#backoff.done(id);
      return hasMoved;
    } catch (error) {
      // Other jobs continue; this one backs off.
      if (!isOfStore(error) || await isAlive(this.#store)) this.#backoff.add(id);
      // It is retried without a pause, so work is left.
      if (!this.#backoff.has(id)) this.#moved = true;
      throw error;
    }
  }

  /** Returns the next team's job for this round; null at the end of a round. */
  async #next(): Promise<ActiveJob | null> {
    const prefix = this.#prefix;
    const range = this.#last === null
      ? { prefix }
      : { prefix, start: [...prefix, this.#last, AFTER_ALL] };
    const [first] = await listRows(this.#store, range, { limit: 1 });
    if (first === undefined) {
      this.#last = null;
      this.#round++;
      return null;
    }
    const team = first.key[prefix.length] as TeamId;
    this.#last = team;
    const ofTeam = { prefix: [...prefix, team] };
    const jobs = await listRows(this.#store, ofTeam, { limit: ACTIVE_JOBS_MAX });
    // Each round picks another job of the team.
    const job = jobs[this.#round % Math.max(1, jobs.length)] ?? first;
    return { team, id: keyParts.id(job.key) };
  }
}

interface ActiveJob {
  readonly team: TeamId;
  readonly id: string;
}
