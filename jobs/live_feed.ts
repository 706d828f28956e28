/**
 * Handing the changes of teams to those who follow them live.
 *
 * Of each team that is followed there is one reader, however many follow. It rests between two looks, so
 * that it takes a small part of the time while calls come in; what becomes too much meanwhile is left out,
 * and told as such: the feed of changes has it.
 */
import type { TeamId } from "../domain/core/ids.ts";
import type { ChangeStore, ChangeWatch } from "../domain/feed/changes.ts";
import type { LiveBatch, LiveFeed } from "../domain/feed/live.ts";
import { LIVE_BATCH_CHARS_MAX, LIVE_CHANGES_LAG_MAX } from "../domain/core/limits.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { jobLine, Loop } from "./loop.ts";

/** Changes read at once. */
const CHANGES_PER_READ = 50;

/**
 * Rest after a look while calls come in: a multiple of the time it took, and so long for each of all who
 * listen that together they are written to two hundred times a second. At most so many milliseconds, and
 * at least so many always.
 */
const REST = { factor: 40, msPerListener: 5, msMin: 20, msMax: 1_000 } as const;

/** Milliseconds of rest after the store failed. */
const FAILURE_PAUSE_MS = 1_000;

/** What this is built from. */
export interface LiveDeps {
  readonly changes: ChangeStore;
  /** How many calls changed something so far: whether it moved tells whether calls come in. */
  readonly calls: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Takes one line about what went wrong. */
  readonly log: (line: string) => void;
}

/** Follows the teams that somebody listens to. */
export class LiveJob implements LiveFeed {
  readonly #deps: LiveDeps;
  readonly #teams = new Map<TeamId, Reader>();
  readonly #running = new Set<Promise<void>>();
  /** Runs a reader outside the request that is the first to listen: the reader outlives it. */
  readonly #outside = AsyncLocalStorage.snapshot();
  #listeners = 0;

  /** Follows nobody yet. */
  constructor(deps: LiveDeps) {
    this.#deps = deps;
  }

  async listen(team: TeamId, take: (batch: LiveBatch) => void): Promise<Disposable> {
    const reader = this.#teams.get(team) ?? this.#begin(team);
    reader.listeners.add(take);
    this.#listeners++;
    const leave = () => {
      if (reader.listeners.delete(take)) this.#listeners--;
      if (reader.listeners.size > 0) return;
      reader.end();
      if (this.#teams.get(team) === reader) this.#teams.delete(team);
    };
    try {
      await reader.begun;
    } catch (error) {
      leave();
      throw error;
    }
    return { [Symbol.dispose]: leave };
  }

  /** Ends all readers. */
  async stop(): Promise<void> {
    for (const reader of this.#teams.values()) reader.end();
    this.#teams.clear();
    await Promise.all(this.#running);
  }

  #begin(team: TeamId): Reader {
    const reader = new Reader(this.#deps, team, () => this.#listeners);
    this.#teams.set(team, reader);
    const running = this.#outside(() => reader.run()).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return reader;
  }
}

/** Reads the feed of one team for everybody who listens. */
class Reader {
  readonly listeners = new Set<(batch: LiveBatch) => void>();
  /** Resolves once it is known from where on changes are told. */
  readonly begun: Promise<void>;
  readonly #deps: LiveDeps;
  readonly #watch: ChangeWatch;
  readonly #team: TeamId;
  readonly #listenersOfAll: () => number;
  readonly #ended = new AbortController();
  readonly #loop: Loop;
  readonly #begun = Promise.withResolvers<void>();
  #at = 0;

  constructor(deps: LiveDeps, team: TeamId, listenersOfAll: () => number) {
    this.#deps = deps;
    this.#listenersOfAll = listenersOfAll;
    this.#team = team;
    this.begun = this.#begun.promise;
    this.#watch = deps.changes.watch(team);
    this.#loop = new Loop({
      step: () => this.#step(),
      failed: (error) => {
        deps.log(jobLine(deps.now(), { live: "The feed of a team cannot be read" }, error));
        return FAILURE_PAUSE_MS;
      },
    });
  }

  end(): void {
    this.#ended.abort();
    void this.#loop.stop();
  }

  async run(): Promise<void> {
    using _ = this.#watch;
    try {
      this.#at = await this.#deps.changes.last(this.#team);
      this.#begun.resolve();
    } catch (error) {
      this.#begun.reject(error);
      return;
    }
    await this.#loop.start();
  }

  /** Hands over what there is, and rests; waits for something where there is nothing. */
  async #step(): Promise<void> {
    const [startMs, calls] = [performance.now(), this.#deps.calls()];
    const isMore = await this.#readOn();
    const endMs = performance.now();
    if (!isMore) await this.#watch.next(this.#ended.signal);
    if (this.#ended.signal.aborted) return;
    const isBusy = this.#deps.calls() > calls;
    const { factor, msPerListener, msMin, msMax } = REST;
    const shareMs = Math.max(factor * (endMs - startMs), msPerListener * this.#listenersOfAll());
    const restMs = isBusy ? Math.min(msMax, shareMs) : 0;
    await this.#loop.wait(Math.max(msMin, endMs + restMs - performance.now()));
  }

  /** Hands over the next changes; answers whether there are more. */
  async #readOn(): Promise<boolean> {
    const { changes } = this.#deps;
    const page = await changes.page(
      this.#team,
      this.#at,
      CHANGES_PER_READ,
      LIVE_BATCH_CHARS_MAX,
    );
    // A ledger that was put back to an earlier state is followed from there.
    const last = page === null || page.hasMore ? await changes.last(this.#team) : page.next;
    if (page !== null && page.next > this.#at) {
      this.#hand({ ...page, after: this.#at, upTo: page.next });
    }
    const isTooMuch = last - this.#at > LIVE_CHANGES_LAG_MAX;
    if (isTooMuch) this.#hand({ after: last, changes: [], upTo: last });
    if (page === null) this.#at = last;
    return page !== null && page.hasMore && !isTooMuch;
  }

  #hand(batch: LiveBatch): void {
    this.#at = batch.upTo;
    for (const take of this.listeners) take(batch);
  }
}
