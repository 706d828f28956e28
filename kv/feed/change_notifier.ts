/**
 * Notifies the watchers of a team's or a run's changes.
 *
 * A commit of this process notifies immediately. Polling finds the commits of other processes.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { ChangeWatch } from "../../domain/feed/changes.ts";
import { keys } from "../base/keys.ts";
import { outsideScope } from "../base/read_scope.ts";
import { getAll, type Store } from "../store.ts";

/** Interval of polling for commits of other processes, milliseconds. */
const POLL_MS = 500;

/** Watched rows, and their versions at the last read; null before the first. */
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
   * Notifies for a new version and at the first read: the rows may have changed since they
   * subscribed.
   */
  note(entries: readonly Deno.KvEntryMaybe<unknown>[]): void {
    const versions = entries.map(({ versionstamp }) => versionstamp).join();
    const isNew = this.#versions !== versions;
    this.#versions = versions;
    if (isNew) this.notify();
  }
}

/** A team with watchers of it or of its runs. */
class WatchedTeam {
  readonly id: TeamId;
  readonly watchers = new Set<Watcher>();
  readonly runs = new Map<RunId, WatchedRows>();
  /** Version up to which its watchers are notified; null before the first. */
  #version: string | null = null;

  constructor(id: TeamId) {
    this.id = id;
  }

  get isWatched(): boolean {
    return this.watchers.size > 0 || this.runs.size > 0;
  }

  /** Returns the watched rows of a run. */
  rowsOf(run: RunId): WatchedRows {
    const rows = this.runs.get(run) ??
      new WatchedRows([keys.summary(this.id, run), keys.processing(this.id, run)]);
    this.runs.set(run, rows);
    return rows;
  }

  notify(): void {
    for (const watcher of this.watchers) watcher.notify();
  }

  /** Notes a commit of this process; if others committed before it, their version is still new. */
  noteCommit({ before, after }: VersionChange): void {
    if (this.#version === (before ?? "")) this.#version = after;
  }

  /** Notifies for a later version, and for the first one. */
  note(versionstamp: string | null): void {
    const version = versionstamp ?? "";
    // Versions sort as text. A read may be older than a commit of this process.
    if (this.#version !== null && version <= this.#version) return;
    this.#version = version;
    this.notify();
  }
}

/** Versions of a team's roll-ups before and after a commit. */
export interface VersionChange {
  /** Null before the first. */
  readonly before: string | null;
  readonly after: string;
}

/** Notifies watchers of changes. */
export class ChangeNotifier {
  readonly #store: Store;
  readonly #teams = new Map<TeamId, WatchedTeam>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #isPolling = false;
  #reading = Promise.resolve();
  #isStopped = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Watches a team, or one of its runs. The roll-ups of a team change with each change; the summary
   * of a run with each change, and its stages with each step after its close.
   */
  watch(team: TeamId, run?: RunId): ChangeWatch {
    const watched = this.#teams.get(team) ?? new WatchedTeam(team);
    this.#teams.set(team, watched);
    const { watchers } = run === undefined ? watched : watched.rowsOf(run);
    const watcher = new Watcher(() => {
      if (!watchers.delete(watcher)) return;
      if (run !== undefined && watchers.size === 0) watched.runs.delete(run);
      if (!watched.isWatched) this.#teams.delete(team);
      this.#setTimer();
    });
    watchers.add(watcher);
    this.#setTimer();
    return watcher;
  }

  /**
   * Notifies the watchers of a team and of these runs.
   *
   * @param change versions before and after the commit that changed the runs; absent if it did not
   * change the roll-ups
   */
  notify(team: TeamId, runs: readonly RunId[], change?: VersionChange): void {
    const watched = this.#teams.get(team);
    if (watched === undefined) return;
    if (change !== undefined) watched.noteCommit(change);
    watched.notify();
    for (const run of runs) watched.runs.get(run)?.notify();
  }

  /** Ends polls and reads. Call it before the store closes. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#setTimer();
    await this.#reading;
  }

  /** Polls only while there are watchers. */
  #setTimer(): void {
    if (this.#teams.size > 0 && !this.#isStopped) {
      // The timer serves all watchers and outlives the request that starts it.
      this.#timer ??= outsideScope(() => setInterval(() => this.#poll(), POLL_MS));
    } else if (this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }

  /** Reads versions and rows, unless a read is under way; {@link stop} waits for it. */
  #poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#reading = this.#compare([...this.#teams.values()]).finally(() => this.#isPolling = false);
  }

  async #compare(teams: readonly WatchedTeam[]): Promise<void> {
    const runs = teams.flatMap(({ runs }) => [...runs.values()]);
    const teamKeys = teams.map(({ id }) => keys.rollupVersion(id));
    const runKeys = runs.flatMap((rows) => rows.keys);
    try {
      const entries = await getAll(this.#store, [...teamKeys, ...runKeys]);
      for (const [i, team] of teams.entries()) team.note(entries[i]?.versionstamp ?? null);
      let at = teams.length;
      for (const rows of runs) rows.note(entries.slice(at, at += rows.keys.length));
    } catch {
      // A failure is reported to the next reader; the next poll tries again.
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
