/**
 * Reads that the guard shares between calls, and starts in the background.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { outsideScope } from "../base/reads.ts";
import type { Store } from "../store.ts";

/** Age after which what other processes may change is read again, milliseconds. */
export const FRESH_MS = 1_000;

/** Returns whether a time is further away than this; a clock may have been set back. */
export function isOlder(atMs: number, nowMs: number, ms: number): boolean {
  return Math.abs(nowMs - atMs) > ms;
}

/** Maximum reads of a team in the background within a second. */
const READS_PER_SECOND = 20;

/** Number of a team's reads in the background within one second. */
export interface ReadCount {
  second: number;
  count: number;
}

/** Reads under way, by name: several callers share one. All reads of a name have one type. */
export class GuardReads {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #reading = new Map<string, Promise<unknown>>();

  constructor(store: Store, now: () => number) {
    [this.#store, this.#now] = [store, now];
  }

  /** Returns the read of a name; undefined if none is under way. */
  get(name: string): Promise<unknown> | undefined {
    return this.#reading.get(name);
  }

  /** Runs a read of a team, unless one of the first name is under way. */
  once<T>(names: readonly string[], team: TeamId, read: () => Promise<T>): Promise<T> {
    const known = this.#reading.get(names[0] ?? "");
    if (known !== undefined) return known as Promise<T>;
    // Several calls share it, so it does not end with one of them.
    const reading = outsideScope(() => this.#store.reads.run(team, read)).finally(() => {
      for (const name of names) this.#reading.delete(name);
    });
    for (const name of names) this.#reading.set(name, reading);
    return reading;
  }

  /**
   * Starts the read of some names, unless all are being read, or the team had enough within this
   * second. Failures are ignored: a later acknowledgement tries again.
   */
  inBackground(
    reads: ReadCount | undefined,
    names: readonly string[],
    start: () => Promise<unknown>,
    max = READS_PER_SECOND,
  ): void {
    if (names.every((name) => this.#reading.has(name))) return;
    const second = Math.floor(this.#now() / 1_000);
    const counted = reads ?? { second, count: 0 };
    if (counted.second !== second) [counted.second, counted.count] = [second, 0];
    if (counted.count >= max) return;
    counted.count++;
    start().catch(() => {});
  }

  /** Resolves when no read is under way. */
  async idle(): Promise<void> {
    while (this.#reading.size > 0) await Promise.allSettled(this.#reading.values());
  }
}
