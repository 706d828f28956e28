/**
 * Limits requests with a large body: few run concurrently, and a team pauses after each. A parsed body
 * may take 60 times its bytes, and parsing it blocks the event loop for up to 60 ms.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FairSlots, type SlotLimits } from "../../domain/core/fair_slots.ts";

/** Bytes above which a body is large. */
export const LARGE_BYTES_MIN = 65_536;

/** Maximum large bodies in progress and waiting. */
const LARGE_BODIES: SlotLimits = { all: 3, team: 1, waiting: 256, teamWaiting: 64 };

/** Pause of a team after a large body, as a multiple of its processing time: a duty cycle of 50 %. */
const PAUSE_FACTOR = 1;

/** Maximum pause in milliseconds. */
const PAUSE_MS_MAX = 500;

/** Maximum teams with a recorded pause; beyond it all pauses are dropped. */
const PAUSES_MAX = 10_000;

/** Slots for requests with a large body, from parsing it to the answer. */
export class LargeBodies {
  readonly #slots = new FairSlots(LARGE_BODIES);
  readonly #pausedUntilMs = new Map<string, number>();

  /**
   * Waits for a slot and for the end of the team's pause.
   *
   * @param signal ends the wait; its reason is thrown
   * @returns a function that releases the slot
   * @throws {Overloaded} when too many requests wait already
   */
  async take(team: string, signal: AbortSignal): Promise<() => void> {
    const release = await this.#slots.take(team, signal);
    try {
      const pauseMs = (this.#pausedUntilMs.get(team) ?? 0) - performance.now();
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    } catch (error) {
      release();
      throw error;
    }
    const startedMs = performance.now();
    return () => {
      release();
      const nowMs = performance.now();
      if (this.#pausedUntilMs.size >= PAUSES_MAX) this.#pausedUntilMs.clear();
      this.#pausedUntilMs.set(
        team,
        nowMs + Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * (nowMs - startedMs)),
      );
    };
  }
}
