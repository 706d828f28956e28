/**
 * Delivers the changes of teams to live listeners.
 *
 * Each followed team has one reader, however many listeners it has. It reads the feed once a second,
 * which finds the changes of other processes, and after each commit of its own. It rests between
 * reads, so that it uses only a small share of the time while calls arrive. If changes accumulate
 * beyond a limit, it skips them and reports the gap; the feed of changes still has them.
 */
import type { RunId, TeamId } from "../domain/core/ids.ts";
import type { ChangeStore, LiveBatch, LiveFeed, RunChange } from "../domain/feed/changes.ts";
import { LIVE_BATCH_CHARS_MAX, LIVE_CHANGES_LAG_MAX } from "../domain/core/limits.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { type CallCount, type JobDeps, jobLine, Loop } from "../runtime/loop.ts";

/** Changes per read. */
const CHANGES_PER_READ = 50;

/**
 * Rest after a read while calls arrive: `factor` times the read's duration, or `msPerListener`
 * times the number of all listeners if that is longer. So all listeners together get at most 200
 * writes a second. The rest is at least `msMin`, and at most `msMax`.
 */
const REST = { factor: 40, msPerListener: 5, msMin: 20, msMax: 1_000 } as const;

/** Milliseconds between two reads without a commit of this process, and after a store failure. */
const POLL_MS = 1_000;

export interface LiveDeps extends JobDeps {
  readonly changes: ChangeStore;
  /** Number of calls that changed something so far; it shows whether calls arrive. */
  readonly calls: CallCount;
}

/** Least milliseconds, and maximum runs, of which the delivered changes are remembered twice. */
const REMEMBERED = { ms: 2_000, runs: 2_000 } as const;

/**
 * Remembers which changes of runs were delivered recently. The feed has each run once, at its latest
 * change. So a run that changes during a read is not in it, and its next change brings the events of
 * both: without this memory, the earlier one would count as delivered.
 */
class Delivered {
  #recent = new Map<RunId, number>();
  #older: ReadonlyMap<RunId, number> = new Map();
  #recentAfter: number;
  #recentSinceMs = performance.now();
  /** Number of the change up to which the events of all runs were delivered. */
  after: number;

  constructor(after: number) {
    this.after = this.#recentAfter = after;
  }

  /** Adds a change; returns the number up to which the events of its run were delivered. */
  add(change: RunChange): number {
    const run = change.kind === "deleted" ? change.run : change.row.id;
    const upTo = this.#recent.get(run) ?? this.#older.get(run) ?? this.after;
    this.#recent.set(run, change.number);
    return upTo;
  }

  /** Forgets what is old; `position` is the number up to which the feed was read. */
  rotate(position: number): void {
    const isOld = performance.now() - this.#recentSinceMs > REMEMBERED.ms;
    if (!isOld && this.#recent.size < REMEMBERED.runs) return;
    this.after = this.#recentAfter;
    this.#older = this.#recent;
    this.#recent = new Map();
    this.#recentAfter = position;
    this.#recentSinceMs = performance.now();
  }
}

/** Follows the teams that have listeners. */
export class LiveJob implements LiveFeed {
  readonly #deps: LiveDeps;
  readonly #teams = new Map<TeamId, Reader>();
  readonly #running = new Set<Promise<void>>();
  /** Runs a reader outside the request of its first listener, because the reader outlives it. */
  readonly #outside = AsyncLocalStorage.snapshot();
  #listeners = 0;

  /** Creates a job that follows no team yet. */
  constructor(deps: LiveDeps) {
    this.#deps = deps;
  }

  async listen(team: TeamId, deliver: (batch: LiveBatch) => void): Promise<Disposable> {
    const reader = this.#teams.get(team) ?? this.#begin(team);
    reader.listeners.add(deliver);
    this.#listeners++;
    const leave = () => {
      if (reader.listeners.delete(deliver)) this.#listeners--;
      if (reader.listeners.size > 0) return;
      reader.end();
      if (this.#teams.get(team) === reader) this.#teams.delete(team);
    };
    try {
      await reader.started.promise;
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

/** Reads the feed of one team for all its listeners. */
class Reader {
  readonly listeners = new Set<(batch: LiveBatch) => void>();
  readonly #deps: LiveDeps;
  readonly #team: TeamId;
  readonly #listenersOfAll: () => number;
  readonly #loop: Loop;
  /** Resolves once the first change to deliver is known. */
  readonly started = Promise.withResolvers<void>();
  #position = 0;
  #delivered = new Delivered(0);
  #isFailing = false;

  constructor(deps: LiveDeps, team: TeamId, listenersOfAll: () => number) {
    this.#deps = deps;
    this.#listenersOfAll = listenersOfAll;
    this.#team = team;
    this.#loop = new Loop(() => this.#step(), (error) => {
      const failure = { live: "The feed of a team cannot be read" };
      // Once for an outage: each second, all followed teams would fail.
      if (!this.#isFailing) deps.log(jobLine(deps.now(), failure, error));
      this.#isFailing = true;
      return POLL_MS;
    });
  }

  end(): void {
    void this.#loop.stop();
  }

  async run(): Promise<void> {
    const { waker } = this.#loop;
    using _listening = this.#deps.changes.listen(this.#team, null, () => waker.wake());
    try {
      this.#skipTo(await this.#deps.changes.last(this.#team));
      this.started.resolve();
    } catch (error) {
      this.started.reject(error);
      return;
    }
    await this.#loop.start();
  }

  /** Delivers the next changes, waits unless there are more, and rests. */
  async #step(): Promise<void> {
    const [startMs, calls, position] = [performance.now(), this.#deps.calls.raised, this.#position];
    const isMore = await this.#readNext();
    const endMs = performance.now();
    this.#isFailing = false;
    if (!isMore) await this.#loop.wait(POLL_MS);
    // A read that finds nothing delays no change after it.
    const isBusy = this.#position > position && this.#deps.calls.raised > calls;
    const { factor, msPerListener, msMin, msMax } = REST;
    const shareMs = Math.max(factor * (endMs - startMs), msPerListener * this.#listenersOfAll());
    const restMs = isBusy ? Math.min(msMax, shareMs) : 0;
    await this.#loop.rest(Math.max(msMin, endMs + restMs - performance.now()));
  }

  /** Delivers the next changes; returns whether there are more. */
  async #readNext(): Promise<boolean> {
    const { changes } = this.#deps;
    const page = await changes.page(
      this.#team,
      this.#position,
      CHANGES_PER_READ,
      LIVE_BATCH_CHARS_MAX,
    );
    // If the ledger was restored to an earlier state, continue from its end.
    const last = page === null || page.hasMore ? await changes.last(this.#team) : page.next;
    if (page !== null && page.next > this.#position) this.#deliver(page.changes, page.next);
    this.#delivered.rotate(this.#position);
    const isTooMuch = last - this.#position > LIVE_CHANGES_LAG_MAX;
    if (page === null || isTooMuch) this.#skipTo(last);
    if (isTooMuch) this.#deliver([], last);
    return page !== null && page.hasMore && !isTooMuch;
  }

  #skipTo(position: number): void {
    this.#position = position;
    this.#delivered = new Delivered(position);
  }

  #deliver(page: readonly RunChange[], upTo: number): void {
    const eventsAfter = this.#delivered.after;
    const changes = page.map((change) => ({ ...change, eventsAfter: this.#delivered.add(change) }));
    const batch = { after: this.#position, eventsAfter, changes, upTo };
    this.#position = upTo;
    for (const deliver of this.listeners) deliver(batch);
  }
}
