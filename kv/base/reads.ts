/**
 * Reads of requests: bounded in number, fair between teams, and ended by their deadline.
 *
 * @module
 */
import type { Deadlines } from "../../domain/core/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import { FairSlots, type SlotLimits } from "../../domain/core/fair_slots.ts";
import { ReadScope } from "../../domain/core/read_scope.ts";
import { currentScope, readScopes } from "./read_scope.ts";

/**
 * Reads at once: one thread reads and decodes, so more at once only take memory. A team may have a few,
 * because a page of the dashboard asks for several things.
 */
const READS: SlotLimits = { all: 6, team: 2, waiting: 5_000, teamWaiting: 1_000 };

/** Scopes whose work has a slot: what it reads further needs no other. */
class SlotScope extends ReadScope {}

/** Gives slots to reads. */
export class Reads {
  readonly #deadlines: Deadlines;
  readonly #slots: FairSlots;

  /** Creates reads that share one deadline length. */
  constructor(deadlines: Deadlines, limits: SlotLimits = READS) {
    this.#deadlines = deadlines;
    this.#slots = new FairSlots(limits);
  }

  /**
   * Reads for a team. The work ends at its next read once the deadline passes or the client is gone; its
   * slot is free when it has ended.
   *
   * @throws {StorageUnavailable} when the deadline passes first
   * @throws {Overloaded} when too many reads wait, or when a slot was not free in time
   */
  async run<T>(team: string, work: () => Promise<T>): Promise<T> {
    const outer = currentScope();
    if (outer instanceof SlotScope) return await work();
    const end = new AbortController();
    const gone = () => end.abort(outer?.signal.reason);
    outer?.signal.addEventListener("abort", gone);
    if (outer?.signal.aborted) gone();
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => {});
    end.signal.addEventListener("abort", () => late.reject(end.signal.reason));
    let isWaiting = true;
    const wait = this.#deadlines.watch(() =>
      end.abort(
        isWaiting
          ? new Overloaded("The read waited too long for its turn")
          : new StorageUnavailable("The store did not answer in time"),
      )
    );
    try {
      const release = await this.#slots.take(team, end.signal);
      isWaiting = false;
      const working = startWithin(new SlotScope(end.signal, outer), work).finally(release);
      working.catch(() => {});
      return await Promise.race([working, late.promise]);
    } finally {
      this.#deadlines.done(wait);
      outer?.signal.removeEventListener("abort", gone);
    }
  }
}

/** Begins work; a throw before its first wait is a rejection as well. */
async function startWithin<T>(scope: ReadScope, work: () => Promise<T>): Promise<T> {
  return await readScopes.run(scope, work);
}
