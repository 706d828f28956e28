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
import { getAll, type Store } from "../store.ts";

/** Interval of polling for commits of other processes, milliseconds. */
const POLL_MS = 1_000;

/** Watchers of one row, and its version at the last poll; undefined before the first. */
class Watched {
  readonly watchers = new Set<Watcher>();
  version: string | null | undefined;

  notify(): void {
    for (const watcher of this.watchers) watcher.notify();
  }

  /**
   * Notifies for a new version and at the first poll: the row may have changed since they
   * subscribed.
   */
  note(version: string | null): void {
    const isNew = this.version !== version;
    this.version = version;
    if (isNew) this.notify();
  }
}

/** All watchers of a team. */
interface WatchedTeam {
  /** Watchers of the entire team: its roll-ups change with each change. */
  readonly all: Watched;
  /** Watchers of one run: its stages change with each change and each step after its close. */
  readonly runs: Map<RunId, Watched>;
}

/** Notifies watchers of changes. */
export class ChangeNotifier {
  readonly #store: Store;
  readonly #teams = new Map<TeamId, WatchedTeam>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #isPolling = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Watches a team, or one of its runs. */
  watch(team: TeamId, run?: RunId): ChangeWatch {
    const ofTeam = this.#teams.get(team) ?? { all: new Watched(), runs: new Map() };
    this.#teams.set(team, ofTeam);
    const watched = run === undefined ? ofTeam.all : ofTeam.runs.get(run) ?? new Watched();
    if (run !== undefined) ofTeam.runs.set(run, watched);
    const watcher = new Watcher(() => {
      watched.watchers.delete(watcher);
      if (run !== undefined && watched.watchers.size === 0) ofTeam.runs.delete(run);
      if (ofTeam.all.watchers.size === 0 && ofTeam.runs.size === 0) this.#teams.delete(team);
      this.#setTimer();
    });
    watched.watchers.add(watcher);
    this.#setTimer();
    return watcher;
  }

  /** Notifies the watchers of a team and of these runs. */
  notify(team: TeamId, runs: readonly RunId[]): void {
    const ofTeam = this.#teams.get(team);
    if (ofTeam === undefined) return;
    ofTeam.all.notify();
    if (ofTeam.runs.size === 0) return;
    for (const run of runs) ofTeam.runs.get(run)?.notify();
  }

  /** Polls only while there are watchers. */
  #setTimer(): void {
    if (this.#teams.size > 0) {
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
      const rows = [...this.#rows()];
      const entries = await getAll(this.#store, rows.map(([key]) => key));
      for (const [i, [, watched]] of rows.entries()) {
        watched.note(entries[i]?.versionstamp ?? null);
      }
    } catch {
      // A failure is reported to the next reader; the next poll tries again.
    } finally {
      this.#isPolling = false;
    }
  }

  /** Yields each watched row. */
  *#rows(): Generator<[Deno.KvKey, Watched]> {
    for (const [team, { all, runs }] of this.#teams) {
      if (all.watchers.size > 0) yield [keys.rollupVersion(team), all];
      for (const [run, watched] of runs) yield [keys.processing(team, run), watched];
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
