/**
 * Schedules jobs round-robin: one step of one job per team.
 *
 * However many jobs a team has, and however many steps they need, another team's next step is at
 * most as many steps away as there are teams with jobs.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import { isOfStore } from "../domain/core/errors.ts";
import { ACTIVE_JOBS_MAX } from "../domain/core/jobs.ts";
import { PutOff } from "./base/retry_later.ts";
import { isAlive, listRows, type Store } from "./store.ts";

/** Teams visited per call while none of their jobs can progress: each visit costs some reads. */
const VISITS_MAX = 10;

/** Sorts after every other key part. */
const AFTER_ALL = true;

/** Runs one step of a job; returns false if the job has to wait. */
export type JobStep = (team: TeamId, id: string) => Promise<boolean>;

/** Iterates over the active jobs. */
export class JobTurns {
  readonly #store: Store;
  readonly #prefix: Deno.KvKey;
  readonly #step: JobStep;
  /** Jobs in backoff after their own failures. */
  readonly #putOff: PutOff;
  /** The team visited last; null at the start of a round. */
  #last: TeamId | null = null;
  #round = 0;
  /** Whether the current round found a job (`#met`) and advanced one (`#moved`). */
  #met = false;
  #moved = false;
  /** True if the last pass found a job, including one that had to wait. */
  underWay = false;

  /** Creates a schedule at its first team. The rows of jobs are `[...prefix, team, id]`. */
  constructor(store: Store, prefix: Deno.KvKey, now: () => number, step: JobStep) {
    this.#store = store;
    this.#prefix = prefix;
    this.#step = step;
    this.#putOff = new PutOff(now);
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
        this.underWay = this.#met;
        [this.#met, this.#moved] = [false, false];
        if (!hasMoved) return false;
        continue;
      }
      if (this.#putOff.has(job.id)) continue;
      [this.#met, this.underWay] = [true, true];
      if (!await this.#stepOf(job)) continue;
      this.#moved = true;
      return true;
    }
    return true;
  }

  async #stepOf({ team, id }: ActiveJob): Promise<boolean> {
    try {
      const hasMoved = await this.#step(team, id);
      this.#putOff.done(id);
      return hasMoved;
    } catch (error) {
      // Other jobs continue; this one backs off.
      if (!isOfStore(error) || await isAlive(this.#store)) this.#putOff.add(id);
      // It is retried without a pause, so work is left.
      if (!this.#putOff.has(id)) this.#moved = true;
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
    return { team, id: String(job.key.at(-1)) };
  }
}

interface ActiveJob {
  readonly team: TeamId;
  readonly id: string;
}
