/**
 * Request reads: bounded in number, fair between teams, and ended by their deadline. The scope of a
 * read is carried in async context, so that it is counted and ends with its request without passing
 * the scope through every function.
 *
 * @module
 */
import type { Deadlines } from "../../runtime/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import { FairSlots, type SlotLimits } from "../../runtime/fair_slots.ts";
import { ReadScope, type ReadScopes } from "../../domain/core/read_scope.ts";
import { AsyncLocalStorage } from "node:async_hooks";

const WAITING = { waiting: 5_000, teamWaiting: 1_000 } as const;

/**
 * Limits of concurrent reads. One thread reads and decodes a file, so more would only use memory;
 * reads of a shared KV wait for round trips most of the time. A team gets several because one dashboard page
 * makes several requests.
 */
export const READS = {
  file: { all: 6, team: 2, ...WAITING },
  shared: { all: 24, team: 8, ...WAITING },
} as const satisfies Record<string, SlotLimits>;

/**
 * Limits of concurrent searches of runs, which scan for up to a second. They have slots of their
 * own, so that the searches of a team leave the slots of its other reads free.
 */
export const SEARCHES: SlotLimits = { all: 3, team: 1, waiting: 500, teamWaiting: 8 };

/** A scope whose work already has a slot; nested reads need no second one. */
class SlotScope extends ReadScope {}

/** Limits concurrent reads with fair slots. */
export class Reads {
  readonly #deadlines: Deadlines;
  readonly #slots: FairSlots;

  /** Creates a limiter whose reads share one deadline length. */
  constructor(deadlines: Deadlines, limits: SlotLimits) {
    [this.#deadlines, this.#slots] = [deadlines, new FairSlots(limits)];
  }

  /**
   * Runs a team's read in a slot. The work aborts at its next read after the deadline or when the
   * client disconnects; its slot is released when it ends.
   *
   * @throws {StorageUnavailable} when the deadline passes first
   * @throws {Overloaded} when too many reads wait, or no slot was free in time
   */
  async run<T>(team: string, work: () => Promise<T>): Promise<T> {
    const outer = currentScope();
    if (outer instanceof SlotScope) return await work();
    const end = new AbortController();
    const onOuterAbort = () => end.abort(outer?.signal.reason);
    outer?.signal.addEventListener("abort", onOuterAbort);
    if (outer?.signal.aborted) onOuterAbort();
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    end.signal.addEventListener("abort", () => aborted.reject(end.signal.reason));
    let isWaiting = true;
    const wait = this.#deadlines.watch(() =>
      end.abort(
        isWaiting
          ? new Overloaded("The read waited too long in the queue")
          : new StorageUnavailable("The store did not answer in time"),
      )
    );
    try {
      const release = await this.#slots.take(team, end.signal);
      isWaiting = false;
      const working = Promise.try(() => readScopes.run(new SlotScope(end.signal, outer), work))
        .finally(release);
      working.catch(() => {});
      return await Promise.race([working, aborted.promise]);
    } finally {
      this.#deadlines.done(wait);
      outer?.signal.removeEventListener("abort", onOuterAbort);
    }
  }
}

const current = new AsyncLocalStorage<ReadScope | null>();

export const readScopes: ReadScopes = { run: (scope, work) => current.run(scope, work) };

/** Returns the current scope; null outside a request's reads. */
export function currentScope(): ReadScope | null {
  return current.getStore() ?? null;
}

/** Runs work outside any scope: work shared by several requests must not end with one of them. */
export function outsideScope<T>(work: () => T): T {
  // `AsyncLocalStorage.exit` does not clear the scope on this runtime.
  return current.run(null, work);
}

/** Returns whether the current work was aborted. */
export function isEnded(): boolean {
  return current.getStore()?.signal.aborted ?? false;
}

/** Throws the abort reason if the current work was aborted. */
export function throwIfEnded(): void {
  current.getStore()?.signal.throwIfAborted();
}

/** Counts the rows of a read and the bytes of their values. */
export function countRead(entries: readonly { readonly value: unknown }[]): void {
  const scope = currentScope();
  if (scope === null) return;
  let bytes = 0;
  for (const { value } of entries) if (value instanceof Uint8Array) bytes += value.length;
  scope.count(entries.length, bytes);
}

/** Counts the bytes of a decompressed value. */
export function countBytes(bytes: number): void {
  current.getStore()?.count(0, bytes);
}
