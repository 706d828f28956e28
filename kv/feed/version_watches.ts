/**
 * Watches teams on a shared KV, to see the commits of other instances immediately.
 *
 * Each commit that changes runs of a team also changes the version of its roll-ups. A watch of the
 * KV has a fixed set of at most 10 keys, so teams share watches. A team that is no longer used keeps
 * its place until another team needs it: repeated long polls of one team open no watch each. Teams
 * beyond the limit are not watched; the caller polls them.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { outsideScope } from "../base/read_scope.ts";

/** Maximum teams of one watch: the protocol allows 10 keys. */
const TEAMS_PER_WATCH_MAX = 10;

/** Maximum watches: each is a request in progress on the connection that commits use. */
const WATCHES_MAX = 10;

/** Receives the version of a team's roll-ups; null for a team without any. */
type OnVersion = (team: TeamId, version: string | null) => void;

/** The watches of one process. */
export class VersionWatches {
  readonly #kv: Deno.Kv;
  readonly #onVersion: OnVersion;
  readonly #watches = new Set<Watch>();
  #isStopped = false;

  constructor(kv: Deno.Kv, onVersion: OnVersion) {
    this.#kv = kv;
    this.#onVersion = onVersion;
  }

  /** Number of watches. */
  get size(): number {
    return this.#watches.size;
  }

  /** Watches a team if there is a place for it. */
  use(team: TeamId): void {
    if (this.#isStopped) return;
    const watches = [...this.#watches];
    const watch = this.#watchOf(team) ?? watches.find(({ hasPlace }) => hasPlace) ?? this.#add();
    watch?.use(team);
  }

  /** Lets another team have the place of a team. */
  release(team: TeamId): void {
    this.#watchOf(team)?.release(team);
  }

  /** Returns whether a team's versions arrive. */
  isLive(team: TeamId): boolean {
    return this.#watchOf(team)?.isLive ?? false;
  }

  /** Notes that a team's version did not arrive: its watch is not live until the next one does. */
  doubt(team: TeamId): void {
    const watch = this.#watchOf(team);
    if (watch !== undefined) watch.isLive = false;
  }

  /** Opens failed watches again, and ends unused ones. */
  renew(): void {
    for (const watch of this.#watches) {
      if (watch.isUsed) watch.start();
      else {
        this.#watches.delete(watch);
        void watch.stop();
      }
    }
  }

  /** Ends all watches. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const watches = [...this.#watches];
    this.#watches.clear();
    await Promise.all(watches.map((watch) => watch.stop()));
  }

  #watchOf(team: TeamId): Watch | undefined {
    return this.#watches.values().find((watch) => watch.has(team));
  }

  #add(): Watch | undefined {
    if (this.#watches.size === WATCHES_MAX) return undefined;
    const watch = new Watch(this.#kv, this.#onVersion);
    this.#watches.add(watch);
    return watch;
  }
}

/** A watch of some teams. */
class Watch {
  /** True if versions of its present teams arrive. */
  isLive = false;
  readonly #kv: Deno.Kv;
  readonly #onVersion: OnVersion;
  /** Teams, and whether each is used. */
  readonly #teams = new Map<TeamId, boolean>();
  #reader: ReadableStreamDefaultReader<Deno.KvEntryMaybe<unknown>[]> | null = null;
  #running: Promise<void> | null = null;
  /** True to open it again, because its teams have changed. */
  #isOutdated = false;
  #isStopped = false;

  constructor(kv: Deno.Kv, onVersion: OnVersion) {
    this.#kv = kv;
    this.#onVersion = onVersion;
  }

  get isUsed(): boolean {
    return this.#unused().length < this.#teams.size;
  }

  get hasPlace(): boolean {
    return this.#teams.size < TEAMS_PER_WATCH_MAX || this.#unused().length > 0;
  }

  has(team: TeamId): boolean {
    return this.#teams.has(team);
  }

  /** Uses a team; a new one gets a free place, or the place of an unused team. */
  use(team: TeamId): void {
    const isNew = !this.#teams.has(team);
    const [unused] = this.#unused();
    const isFull = this.#teams.size === TEAMS_PER_WATCH_MAX;
    if (isNew && isFull && unused !== undefined) this.#teams.delete(unused);
    this.#teams.set(team, true);
    if (!isNew) return;
    this.isLive = false;
    this.#isOutdated = true;
    this.#close();
    this.start();
  }

  release(team: TeamId): void {
    this.#teams.set(team, false);
  }

  /** Opens it, unless it is open. */
  start(): void {
    // It serves all watchers and outlives the request that starts it.
    this.#running ??= outsideScope(() => this.#run());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#close();
    await this.#running;
  }

  #unused(): TeamId[] {
    return [...this.#teams].flatMap(([team, isUsed]) => isUsed ? [] : [team]);
  }

  #close(): void {
    // A stream that has failed rejects; reading it has reported that.
    this.#reader?.cancel().catch(() => {});
  }

  async #run(): Promise<void> {
    do {
      this.#isOutdated = false;
      await this.#read([...this.#teams.keys()]);
      this.isLive = false;
    } while (this.#isOutdated && !this.#isStopped);
    this.#running = null;
  }

  /** Reads versions until the stream is closed; the first ones are the present versions. */
  async #read(teams: readonly TeamId[]): Promise<void> {
    try {
      const rows = teams.map((team) => keys.rollupVersion(team));
      const reader = this.#kv.watch<unknown[]>(rows).getReader();
      this.#reader = reader;
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#isOutdated || this.#isStopped) return;
        this.isLive = true;
        for (const [i, team] of teams.entries()) {
          this.#onVersion(team, value[i]?.versionstamp ?? null);
        }
      }
    } catch {
      // The caller polls until the watch is opened again.
    } finally {
      this.#reader = null;
    }
  }
}
