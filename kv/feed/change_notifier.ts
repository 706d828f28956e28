/**
 * Waking those who follow the changes of a team, or of one run.
 *
 * A commit of this process notifies at once. Those of other processes are found once a second by the versions
 * of the rows that are watched: a team's roll-ups, or the stages of a run.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { ChangeWatch } from "../../domain/feed/changes.ts";
import { keys } from "../base/keys.ts";
import { outsideScope } from "../base/read_scope.ts";
import { getAll, type Store } from "../store.ts";

/** Milliseconds between two looks at what other processes committed. */
const LOOK_MS = 1_000;

/** Those who watch one row, and its version at the last look; undefined before the first. */
class Watched {
  readonly watchers = new Set<Watcher>();
  version: string | null | undefined;

  notify(): void {
    for (const watcher of this.watchers) watcher.notify();
  }

  /** Rings for a version that is new, and at the first look: it may have changed since they began. */
  note(version: string | null): void {
    const isNew = this.version !== version;
    this.version = version;
    if (isNew) this.notify();
  }
}

/** Everybody who watches a team. */
interface WatchedTeam {
  /** Those who watch all of it: its roll-ups change with each change. */
  readonly all: Watched;
  /** Those who watch one run: its stages change with each change of it and each step after its close. */
  readonly runs: Map<RunId, Watched>;
}

/** Tells watchers of changes. */
export class ChangeNotifier {
  readonly #store: Store;
  readonly #teams = new Map<TeamId, WatchedTeam>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #looking = false;

  /** Nobody watches yet. */
  constructor(store: Store) {
    this.#store = store;
  }

  /** Watches a team, or one of its runs alone. */
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

  /** Says that runs of a team changed. */
  notify(team: TeamId, runs: readonly RunId[]): void {
    const ofTeam = this.#teams.get(team);
    if (ofTeam === undefined) return;
    ofTeam.all.notify();
    if (ofTeam.runs.size === 0) return;
    for (const run of runs) ofTeam.runs.get(run)?.notify();
  }

  /** Looks once a second, and only while there is somebody to tell. */
  #setTimer(): void {
    if (this.#teams.size > 0) {
      // The looks are for everybody who watches, and go on when the first request has ended.
      this.#timer ??= outsideScope(() => setInterval(() => void this.#look(), LOOK_MS));
    } else if (this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const rows = [...this.#rows()];
      const entries = await getAll(this.#store, rows.map(([key]) => key));
      for (const [i, [, watched]] of rows.entries()) {
        watched.note(entries[i]?.versionstamp ?? null);
      }
    } catch {
      // A store that fails is told to whoever reads next; the look after this one tries again.
    } finally {
      this.#looking = false;
    }
  }

  /** Each row that is watched. */
  *#rows(): Generator<[Deno.KvKey, Watched]> {
    for (const [team, { all, runs }] of this.#teams) {
      if (all.watchers.size > 0) yield [keys.rollupVersion(team), all];
      for (const [run, watched] of runs) yield [keys.processing(team, run), watched];
    }
  }
}

/** One watch: a notification while nobody waits is kept for the next wait. */
class Watcher implements ChangeWatch {
  readonly #leave: () => void;
  #rung = false;
  #wakeUp: (() => void) | null = null;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  notify(): void {
    this.#rung = true;
    this.#wakeUp?.();
  }

  async next(signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wakeUp = () => resolve();
      this.#wakeUp = wakeUp;
      signal.addEventListener("abort", wakeUp);
      await promise;
      signal.removeEventListener("abort", wakeUp);
      this.#wakeUp = null;
    }
    this.#rung = false;
  }

  [Symbol.dispose](): void {
    this.#leave();
  }
}
