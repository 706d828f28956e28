/**
 * Turns of jobs: team after team, a step of one job of it each time.
 *
 * However many jobs a team has, and however many steps they take, the next step of another team's job is
 * as many steps away as there are teams with jobs.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import { isOfStore } from "../domain/core/errors.ts";
import { ACTIVE_JOBS_MAX } from "../domain/core/jobs.ts";
import { isAlive } from "./alive.ts";
import { PutOff } from "./base/retry_later.ts";
import { listRows, type Store } from "./store.ts";

/** Teams visited in one go while none of their jobs comes further: each takes some reads. */
const VISITS_MAX = 10;

/** Sorts behind every other part of a key. */
const BEHIND = true;

/** Takes a job a step further; answers false when it has to wait. */
export type JobStep = (team: TeamId, id: string) => Promise<boolean>;

/** Goes through the jobs under way. */
export class JobTurns {
  readonly #store: Store;
  readonly #prefix: Deno.KvKey;
  readonly #step: JobStep;
  /** Jobs that failed by themselves. */
  readonly #putOff: PutOff;
  /** The team visited last; null at the start of a round. */
  #last: TeamId | null = null;
  #round = 0;
  /** Whether the round under way met a job, and took one further. */
  #met = false;
  #moved = false;
  /** Whether there was a job the last time, also one that had to wait. */
  underWay = false;

  /** Has visited no team yet. The rows of jobs are `[...prefix, team, id]`. */
  constructor(store: Store, prefix: Deno.KvKey, now: () => number, step: JobStep) {
    this.#store = store;
    this.#prefix = prefix;
    this.#step = step;
    this.#putOff = new PutOff(now);
  }

  /**
   * Takes one job a step further.
   *
   * @returns false once a whole round found none that could go on
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
      // The other jobs go on, and this one is not tried all the time.
      if (!isOfStore(error) || await isAlive(this.#store)) this.#putOff.add(id);
      // It is tried again, so there is something to do.
      if (!this.#putOff.has(id)) this.#moved = true;
      throw error;
    }
  }

  /** The job whose turn it is in the next team; null at the end of a round. */
  async #next(): Promise<ActiveJob | null> {
    const prefix = this.#prefix;
    const range = this.#last === null
      ? { prefix }
      : { prefix, start: [...prefix, this.#last, BEHIND] };
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
    // Each round another one of the team.
    const job = jobs[this.#round % Math.max(1, jobs.length)] ?? first;
    return { team, id: String(job.key.at(-1)) };
  }
}

interface ActiveJob {
  readonly team: TeamId;
  readonly id: string;
}
