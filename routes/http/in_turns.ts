/** Splits work that would block the event loop for too long into turns. */
import { setTimeout } from "node:timers";

/** Milliseconds of work before the first pause, and in each later turn. */
const TURN_MS = { first: 1, next: 5 } as const;

/** Queue of callers that wait for a turn. */
const waiting: (() => void)[] = [];

/**
 * Waits for a turn. Each iteration of the event loop runs one turn, however many callers wait. Turns are
 * scheduled with timers: `setImmediate` callbacks run before the next iteration's sockets, which would
 * then wait for all turns.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setTimeout(giveTurn, 0);
  });
}

function giveTurn(): void {
  // Schedules the next turn first, while the queue still shows that one is needed.
  if (waiting.length > 1) setTimeout(giveTurn, 0);
  waiting.shift()?.();
}

/** Measures the turns of one piece of work. */
export class TurnClock {
  #endMs = performance.now() + TURN_MS.first;

  /** Yields to the event loop when the turn is over; null while it is not. */
  pause(): Promise<void> | null {
    return performance.now() < this.#endMs ? null : this.#pause();
  }

  async #pause(): Promise<void> {
    await nextTurn();
    this.#endMs = performance.now() + TURN_MS.next;
  }
}
