/** Work that would hold the event loop for too long, done in turns with whatever else waits. */
import { setTimeout } from "node:timers";
import type { TimeSliced } from "../../domain/core/time_slices.ts";

/** Milliseconds of work before the first pause, and of each turn after it. */
const TURN_MS = { first: 1, next: 5 } as const;

/** Who waits for a turn, the longest first. */
const waiting: (() => void)[] = [];

/**
 * Waits for a turn. Each round of the event loop has one, however much work there is. A timer begins it: what
 * `setImmediate` begins comes before the sockets of the next round, so that they would wait for all turns.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setTimeout(giveTurn, 0);
  });
}

function giveTurn(): void {
  // The next round is asked for first: what begins to wait meanwhile finds the queue as it is.
  if (waiting.length > 1) setTimeout(giveTurn, 0);
  waiting.shift()?.();
}

/** Ends turns of one piece of work when they have taken long enough. */
export class TurnClock {
  #endMs = performance.now() + TURN_MS.first;

  /** Lets everything else go first when the turn is over; null while it is not. */
  pause(): Promise<void> | null {
    return performance.now() < this.#endMs ? null : this.#pause();
  }

  async #pause(): Promise<void> {
    await nextTurn();
    this.#endMs = performance.now() + TURN_MS.next;
  }
}

/** Does work, and lets everything else go first after each turn. */
export async function inTurns<T>(work: TimeSliced<T>): Promise<T> {
  const clock = new TurnClock();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const pause = clock.pause();
    if (pause !== null) await pause;
  }
}
