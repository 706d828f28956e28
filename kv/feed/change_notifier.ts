/**
 * Wakes the watchers of a team's or a run's changes.
 *
 * A commit of this process notifies immediately. Commits of other processes are found once a second
 * by the versions of the watched rows: a team's roll-ups, or the stages of a run.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { ChangeWatch } from "../../domain/feed/changes.ts";
import { keys } from "../base/keys.ts";
import { outsideScope } from "../base/read_scope.ts";
import { keyText } from "../writer/group.ts";
import { getAll, type Store } from "../store.ts";

/** Interval of polling for commits of other processes, milliseconds. */
const POLL_MS = 1_000;

/** A watched row, and its version at the last poll; undefined before the first. */
class WatchedRow {
  readonly watchers = new Set<Watcher>();
  readonly key: Deno.KvKey;
  #version: string | null | undefined;

  constructor(key: Deno.KvKey) {
    this.key = key;
  }

  notify(): void {
    for (const watcher of this.watchers) watcher.notify();
  }

  /**
   * Notifies for a new version and at the first poll: the row may have changed since they
   * subscribed.
   */
  note(version: string | null): void {
    const isNew = this.#version !== version;
    this.#version = version;
    if (isNew) this.notify();
  }
}

/** Notifies watchers of changes. */
export class ChangeNotifier {
  readonly #store: Store;
  /** Rows with watchers, by the text of their key. */
  readonly #rows = new Map<string, WatchedRow>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #isPolling = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Watches a team, or one of its runs. The roll-ups of a team change with each change, the stages
   * of a run with each change and each step after its close.
   */
  watch(team: TeamId, run?: RunId): ChangeWatch {
    const key = run === undefined ? keys.rollupVersion(team) : keys.processing(team, run);
    const row = this.#rows.get(keyText(key)) ?? new WatchedRow(key);
    this.#rows.set(keyText(key), row);
    const watcher = new Watcher(() => {
      const isLast = row.watchers.delete(watcher) && row.watchers.size === 0;
      if (isLast) this.#rows.delete(keyText(key));
      this.#setTimer();
    });
    row.watchers.add(watcher);
    this.#setTimer();
    return watcher;
  }

  /** Notifies the watchers of a team and of these runs. */
  notify(team: TeamId, runs: readonly RunId[]): void {
    if (this.#rows.size === 0) return;
    const changed = [keys.rollupVersion(team), ...runs.map((run) => keys.processing(team, run))];
    for (const key of changed) this.#rows.get(keyText(key))?.notify();
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
      const rows = [...this.#rows.values()];
      const entries = await getAll(this.#store, rows.map(({ key }) => key));
      for (const [i, row] of rows.entries()) row.note(entries[i]?.versionstamp ?? null);
    } catch {
      // A failure is reported to the next reader; the next poll tries again.
    } finally {
      this.#isPolling = false;
    }
  }
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
