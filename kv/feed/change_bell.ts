/**
 * Waking those who follow the changes of a team, or of one run.
 *
 * A commit of this process rings at once. Those of other processes are found by looking at the version of
 * a team's roll-ups once a second, as long as anybody watches it.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import type { ChangeWatch } from "../../domain/feed/changes.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { keys } from "../keys.ts";
import { GET_MANY_KEYS_MAX } from "../kv_limits.ts";
import { outsideScope } from "../read_scope.ts";
import { getMany, type Store } from "../store.ts";

/** Milliseconds between two looks at what other processes committed. */
const LOOK_MS = 1_000;

/** Everybody who watches a team. */
interface Watched {
  /** Those who watch all of it. */
  readonly all: Set<Watcher>;
  /** Those who watch one run. */
  readonly runs: Map<RunId, Set<Watcher>>;
  /** The version that was last looked at; undefined before the first look. */
  version: string | null | undefined;
}

/** Tells watchers of changes. */
export class ChangeBell {
  readonly #store: Store;
  readonly #teams = new Map<TeamId, Watched>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #looking = false;

  /** Nobody watches yet. */
  constructor(store: Store) {
    this.#store = store;
  }

  /** Watches a team, or one of its runs alone. */
  watch(team: TeamId, run?: RunId): ChangeWatch {
    const watched = this.#teams.get(team) ??
      { all: new Set(), runs: new Map(), version: undefined };
    this.#teams.set(team, watched);
    const among = run === undefined ? watched.all : watched.runs.get(run) ?? new Set();
    if (run !== undefined) watched.runs.set(run, among);
    const watcher = new Watcher(() => {
      among.delete(watcher);
      if (run !== undefined && among.size === 0) watched.runs.delete(run);
      if (watched.all.size === 0 && watched.runs.size === 0) this.#teams.delete(team);
      this.#setTimer();
    });
    among.add(watcher);
    this.#setTimer();
    return watcher;
  }

  /** Says that runs of a team changed. */
  ring(team: TeamId, runs: readonly RunId[]): void {
    const watched = this.#teams.get(team);
    if (watched === undefined) return;
    for (const watcher of watched.all) watcher.ring();
    if (watched.runs.size === 0) return;
    for (const run of runs) {
      for (const watcher of watched.runs.get(run) ?? []) watcher.ring();
    }
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
      const teams = [...this.#teams];
      for (let at = 0; at < teams.length; at += GET_MANY_KEYS_MAX) {
        const some = teams.slice(at, at + GET_MANY_KEYS_MAX);
        const wanted = some.map(([team]) => keys.rollupVersion(team));
        const entries = await getMany(this.#store, wanted);
        for (const [i, [, watched]] of some.entries()) {
          note(watched, entries[i]?.versionstamp ?? null);
        }
      }
    } catch {
      // A store that fails is told to whoever reads next; the look after this one tries again.
    } finally {
      this.#looking = false;
    }
  }
}

/**
 * Rings for a version that is new. Stages behind a close change no version, so that who watches a run is
 * woken by every look.
 */
function note(watched: Watched, version: string | null): void {
  const isNew = watched.version !== undefined && watched.version !== version;
  watched.version = version;
  const ofRuns = [...watched.runs.values()].flatMap((some) => [...some]);
  for (const watcher of [...isNew ? watched.all : [], ...ofRuns]) watcher.ring();
}

/** One watch: a ring while nobody waits is kept for the next wait. */
class Watcher implements ChangeWatch {
  readonly #leave: () => void;
  #rung = false;
  #wakeUp: (() => void) | null = null;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  ring(): void {
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
