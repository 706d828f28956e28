/** Work that would hold the event loop for too long, done in turns with whatever else waits. */
import { setImmediate } from "node:timers/promises";
import type { Turns } from "../domain/input/turns.ts";

/** Milliseconds of work in a turn. */
const TURN_MS = 5;

/** Ends turns when they have taken long enough. */
export class TurnClock {
  #beganMs = performance.now();

  /** Lets everything else go first when the turn is over; null while it is not. */
  pause(): Promise<void> | null {
    return performance.now() - this.#beganMs < TURN_MS ? null : this.#pause();
  }

  async #pause(): Promise<void> {
    await setImmediate();
    this.#beganMs = performance.now();
  }
}

/** Does work, and lets everything else go first after each turn. */
export async function inTurns<T>(work: Turns<T>): Promise<T> {
  const clock = new TurnClock();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const pause = clock.pause();
    if (pause !== null) await pause;
  }
}
