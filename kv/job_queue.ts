/**
 * Jobs that teams ask for: stored until they are done, worked on step by step, and waited for.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import type { Problem } from "../domain/core/errors.ts";
import { KeyedMutex } from "./base/keyed_mutex.ts";
import { LOST, untilCommitted } from "./base/retry.ts";
import { JobTurns } from "./job_turns.ts";
import { getEntry, getValue, type Store } from "./store.ts";
import type { Write } from "./writer/write.ts";

/** A job as every kind of them is stored. */
interface StoredJob {
  readonly id: string;
  /** `waiting` until every call stored before it is in the indexes. */
  readonly state: "waiting" | "running" | "done";
}

/** Keys of one kind of job. */
export interface JobKeys {
  /** Changes with every new job of a team; all of its jobs are below it. */
  all(team: TeamId): Deno.KvKey;
  /** One job. */
  job(team: TeamId, id: string): Deno.KvKey;
  /** All jobs under way. */
  active(): Deno.KvKey;
  /** One job under way. */
  activeJob(team: TeamId, id: string): Deno.KvKey;
}

/** Waits until the calls stored before a job are in the indexes. */
export interface JobWaits {
  /** Looks further; see `PendingWaits`. */
  look(job: string, team: TeamId, version: string): Promise<"over" | "further" | "waits">;
}

/** What becomes of a request for a job; a new one comes with the rows that are stored with it. */
export type JobDecision<Job> =
  | { readonly kind: "stored"; readonly job: Job; readonly rows: Pick<Write, "sets" | "deletes"> }
  | { readonly kind: "replayed"; readonly job: Job }
  | { readonly kind: "refused"; readonly problem: Problem };

/** The jobs of one kind, of all teams. */
export abstract class JobQueue<Job extends StoredJob> {
  readonly #store: Store;
  readonly #keys: JobKeys;
  readonly #waits: JobWaits;
  readonly #turns: JobTurns;
  readonly #locks = new KeyedMutex();
  /** Callers who wait in this process, by job. */
  readonly #waiting = new Map<string, Set<(job: Job) => void>>();

  /** Creates a queue that has worked on nothing yet; `now` is in unix milliseconds. */
  constructor(store: Store, keys: JobKeys, waits: JobWaits, now: () => number) {
    this.#store = store;
    this.#keys = keys;
    this.#waits = waits;
    this.#turns = new JobTurns(store, keys.active(), now, (team, id) => this.#step(team, id));
  }

  /** Takes a job that need not wait a step further; returns it as it was stored, null when it was not. */
  protected abstract advance(team: TeamId, job: Job, entry: Deno.AtomicCheck): Promise<Job | null>;

  /** Takes the job whose turn it is a step further; returns false when none can go on. */
  work(): Promise<boolean> {
    return this.#turns.work();
  }

  /** Whether the last step found a job, also one that has to wait. */
  get underWay(): boolean {
    return this.#turns.underWay;
  }

  /** Reads a job of a team; null when the team has none of that id. */
  get(team: { readonly id: TeamId }, id: string): Promise<Job | null> {
    return getValue<Job>(this.#store, this.#keys.job(team.id, id));
  }

  /** Returns the job once it is done, or as it is after so many milliseconds. */
  async waitUntilDone(team: { readonly id: TeamId }, job: Job, ms: number): Promise<Job> {
    const { promise, resolve } = Promise.withResolvers<Job | null>();
    const waiting = this.#waiting.get(job.id) ?? new Set();
    this.#waiting.set(job.id, waiting.add(resolve));
    const timer = setTimeout(resolve, ms, null);
    try {
      // It may have been done before anybody waited.
      const known = await this.get(team, job.id);
      if (known === null || known.state === "done") return known ?? job;
      return await promise ?? await this.get(team, job.id) ?? job;
    } finally {
      clearTimeout(timer);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(job.id);
    }
  }

  /** Stores a job unless `decide` finds the same one or refuses it; of two at once one is stored. */
  protected async add(
    team: TeamId,
    decide: () => Promise<JobDecision<Job>>,
  ): Promise<JobDecision<Job>> {
    const made = await this.#locks.take(
      team,
      () => untilCommitted("make a job", () => this.#tryToAdd(team, decide)),
    );
    if (made.kind !== "refused") this.#store.workerSignal.raise();
    return made;
  }

  async #tryToAdd(team: TeamId, decide: () => Promise<JobDecision<Job>>) {
    const version = await getEntry(this.#store, this.#keys.all(team));
    const made = await decide();
    if (made.kind !== "stored") return made;
    const { job, rows } = made;
    const committed = await this.#store.writer.commit({
      team,
      checks: [version],
      sets: [
        { key: version.key, value: true },
        { key: this.#keys.job(team, job.id), value: job },
        { key: this.#keys.activeJob(team, job.id), value: true },
        ...rows.sets ?? [],
      ],
      deletes: rows.deletes ?? [],
    });
    return committed === null ? LOST : made;
  }

  async #step(team: TeamId, id: string): Promise<boolean> {
    const entry = await getEntry(this.#store, this.#keys.job(team, id));
    const job = entry.value as Job | null;
    if (job === null || job.state === "done") {
      await this.#store.writer.commit({ deletes: [this.#keys.activeJob(team, id)] });
      return true;
    }
    if (job.state === "waiting") {
      // As long as it waits, its version is of the moment it was made.
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
