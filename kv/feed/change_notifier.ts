/**
 * Wakes the watchers of a team's or a run's changes.
 *
 * A commit of this process notifies immediately. Commits of other processes are found once a second
 * by the versions of the watched rows: a team's roll-ups, or a run's summary and its stages.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { ChangeWatch } from "../../domain/feed/changes.ts";
import { keys } from "../base/keys.ts";
import { outsideScope } from "../base/read_scope.ts";
import { getAll, type Store } from "../store.ts";

/** Interval of polling for commits of other processes, milliseconds. */
const POLL_MS = 1_000;

/** Watched rows of one team or run, and their versions at the last poll; null before the first. */
class WatchedRows {
  readonly watchers = new Set<Watcher>();
  readonly keys: readonly Deno.KvKey[];
  #versions: string | null = null;

  constructor(watched: readonly Deno.KvKey[]) {
    this.keys = watched;
  }

  notify(): void {
    for (const watcher of this.watchers) watcher.notify();
  }

  /**
   * Notifies for a new version and at the first poll: the rows may have changed since they
   * subscribed.
   */
  note(entries: readonly Deno.KvEntryMaybe<unknown>[]): void {
    const versions = entries.map(({ versionstamp }) => versionstamp).join();
    const isNew = this.#versions !== versions;
    this.#versions = versions;
    if (isNew) this.notify();
  }
}

/** Notifies watchers of changes. */
export class ChangeNotifier {
  readonly #store: Store;
  /** Rows with watchers, by team or run. */
  readonly #rows = new Map<string, WatchedRows>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #isPolling = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Watches a team, or one of its runs. The roll-ups of a team change with each change; the summary
   * of a run with each change, and its stages with each step after its close.
   */
  watch(team: TeamId, run?: RunId): ChangeWatch {
    const watched = run === undefined
      ? [keys.rollupVersion(team)]
      : [keys.summary(team, run), keys.processing(team, run)];
    const name = nameOf(team, run);
    const rows = this.#rows.get(name) ?? new WatchedRows(watched);
    this.#rows.set(name, rows);
    const watcher = new Watcher(() => {
      const isLast = rows.watchers.delete(watcher) && rows.watchers.size === 0;
      if (isLast) this.#rows.delete(name);
      this.#setTimer();
    });
    rows.watchers.add(watcher);
    this.#setTimer();
    return watcher;
  }

  /** Notifies the watchers of a team and of these runs. */
  notify(team: TeamId, runs: readonly RunId[]): void {
    if (this.#rows.size === 0) return;
    this.#rows.get(nameOf(team))?.notify();
    for (const run of runs) this.#rows.get(nameOf(team, run))?.notify();
  }

  /** Polls only while there are watchers. */
  #setTimer(): void {
    if (this.#rows.size > 0) {
      // The timer serves all watchers and outlives the request that starts it.
      this.#timer ??= outsideScope(() => setInterval(() => void this.#poll(), POLL_MS));
    } else if (this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      const watched = [...this.#rows.values()];
      const entries = await getAll(this.#store, watched.flatMap((rows) => rows.keys));
      let at = 0;
      for (const rows of watched) rows.note(entries.slice(at, at += rows.keys.length));
    } catch {
      // A failure is reported to the next reader; the next poll tries again.
    } finally {
      this.#isPolling = false;
    }
  }
}

function nameOf(team: TeamId, run?: RunId): string {
  return run === undefined ? team : `${team} ${run}`;
}

/** One subscription: a notification between two waits is kept for the next wait. */
class Watcher implements ChangeWatch {
  readonly #unsubscribe: () => void;
  #isNotified = false;
  #wakeUp: (() => void) | null = null;

  constructor(unsubscribe: () => void) {
    this.#unsubscribe = unsubscribe;
  }

  notify(): void {
    this.#isNotified = true;
    this.#wakeUp?.();
  }

  async next(signal: AbortSignal): Promise<void> {
    if (!this.#isNotified && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wakeUp = () => resolve();
      this.#wakeUp = wakeUp;
      signal.addEventListener("abort", wakeUp);
      await promise;
      signal.removeEventListener("abort", wakeUp);
      this.#wakeUp = null;
    }
    this.#isNotified = false;
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }
}
