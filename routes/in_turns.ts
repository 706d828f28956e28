/** Work that would hold the event loop for too long, done in turns with whatever else waits. */
import { setImmediate } from "node:timers/promises";
import type { Turns } from "../domain/input/turns.ts";

/** Milliseconds of work in a turn. */
const TURN_MS = 5;

/** Does work, and lets everything else go first after each turn. */
export async function inTurns<T>(work: Turns<T>): Promise<T> {
  let beganMs = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() - beganMs < TURN_MS) continue;
    await setImmediate();
    beganMs = performance.now();
  }
}
