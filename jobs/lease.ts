/**
 * The lease of a shared store: the one instance that holds it does the background work.
 *
 * It only saves work. Every commit checks what it changes, so two holders for a moment do no harm.
 * No clocks are compared: an instance takes the lease when it has not seen a renewal for the lease's
 * length, by its own monotonic clock.
 *
 * @module
 */
import { endsWithin, type Timers } from "../runtime/deadlines.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import type { LeaseStore } from "../kv/lease.ts";
import { FAILURE_PAUSE_MS, type JobDeps, jobLine, type Leadership, Loop } from "../runtime/loop.ts";

/** Milliseconds that a lease lasts, between renewals, and between polls of other instances. */
const LEASE = { ms: 10_000, renewMs: 4_000, lookMs: 2_000 } as const;

export interface LeaseDeps extends Omit<JobDeps, "leadership"> {
  readonly store: LeaseStore;
  readonly timers: Timers;
  /** Replaces the lengths, for tests. */
  readonly lengths?: Readonly<Record<keyof typeof LEASE, number>>;
}

/** Holds the lease, or waits for it. Stop it after the jobs that it allows. */
export class Lease implements Leadership {
  readonly #deps: LeaseDeps;
  readonly #lengths: Readonly<Record<keyof typeof LEASE, number>>;
  readonly #loop: Loop;
  readonly #listeners: (() => void)[] = [];
  /** Resolves when the next turn begins, or at the stop. */
  #begin = Promise.withResolvers<void>();
  /** Version of the own lease; null without one. */
  #own: string | null = null;
  #heldUntilMs = -Infinity;
  /** Another instance's version, and the time at which it was first seen. */
  #other: { readonly version: string | null; readonly sinceMs: number } | null = null;

  /** Creates a lease; `start` tries to take it. */
  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#lengths = deps.lengths ?? LEASE;
    this.#loop = new Loop(() => this.#step(), (error) => {
      if (!(error instanceof StorageUnavailable)) {
        deps.log(jobLine(deps.now(), { lease: "The lease cannot be renewed" }, error));
      }
      return FAILURE_PAUSE_MS;
    });
  }

  get isLeader(): boolean {
    return this.#deps.timers.now() < this.#heldUntilMs;
  }

  onBegin(begun: () => void): void {
    this.#listeners.push(begun);
  }

  start(): void {
    void this.#loop.start();
  }

  /**
   * Resolves with true once this instance holds the lease; with false if it does not within `ms`
   * milliseconds, or stops.
   */
  async begins(ms: number): Promise<boolean> {
    return this.isLeader ||
      await endsWithin(ms, this.#begin.promise, this.#deps.timers) && this.isLeader;
  }

  /** Stops, and frees the lease for another instance. */
  async stop(): Promise<void> {
    this.#begin.resolve();
    await this.#loop.stop();
    this.#heldUntilMs = -Infinity;
    if (this.#own === null) return;
    try {
      await this.#deps.store.release(this.#own);
    } catch (error) {
      // It ends by itself.
      if (!(error instanceof StorageUnavailable)) throw error;
    }
  }

  async #step(): Promise<void> {
    const { store, timers } = this.#deps;
    const startMs = timers.now();
    if (this.#own === null) {
      const freeInMs = await this.#freeInMs();
      if (freeInMs > 0) return await this.#loop.wait(Math.min(this.#lengths.lookMs, freeInMs));
    }
    this.#own = await store.take(this.#own ?? this.#other?.version ?? null);
    this.#other = null;
    if (this.#own === null) {
      this.#heldUntilMs = -Infinity;
      return await this.#loop.wait(this.#lengths.lookMs);
    }
    // It may have ended during the commit: then loops that saw it wait for the next turn.
    const wasHeld = this.isLeader;
    this.#heldUntilMs = startMs + this.#lengths.ms;
    if (!wasHeld) {
      this.#begin.resolve();
      this.#begin = Promise.withResolvers();
      this.#listeners.forEach((begun) => begun());
    }
    await this.#loop.wait(this.#lengths.renewMs);
  }

  /** Returns the milliseconds until the lease is free if its holder does not renew it; 0 without one. */
  async #freeInMs(): Promise<number> {
    const version = await this.#deps.store.version();
    const nowMs = this.#deps.timers.now();
    if (this.#other === null || this.#other.version !== version) {
      this.#other = { version, sinceMs: nowMs };
    }
    return version === null ? 0 : this.#other.sinceMs + this.#lengths.ms - nowMs;
  }
}
