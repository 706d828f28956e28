/**
 * Requests with a large body: few are worked on at once, and a team rests after each. What is parsed of a
 * body may take 60 times its bytes, and parsing it holds the event loop for up to 60 ms.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FairSlots, type SlotLimits } from "../../domain/core/fair_slots.ts";

/** Bytes from which a body is large. */
export const LARGE_BYTES_MIN = 65_536;

/** Large bodies worked on and waiting. */
const LARGE_BODIES: SlotLimits = { all: 3, team: 1, waiting: 256, teamWaiting: 64 };

/** Rest of a team after a large body, as a multiple of the time that it took: half of it is work. */
const REST = 1;

/** Longest rest in milliseconds. */
const REST_MS_MAX = 500;

/** Teams whose rest is remembered; beyond that all rests are over. */
const RESTS_MAX = 10_000;

/** Slots for requests with a large body, from parsing it to the answer. */
export class LargeBodies {
  readonly #slots = new FairSlots(LARGE_BODIES);
  readonly #restsUntilMs = new Map<string, number>();

  /**
   * Waits for a slot and for the end of the team's rest.
   *
   * @param signal ends the wait; its reason is thrown
   * @returns gives the slot back
   * @throws {Overloaded} when too many wait already
   */
  async take(team: string, signal: AbortSignal): Promise<() => void> {
    const release = await this.#slots.take(team, signal);
    try {
      const restMs = (this.#restsUntilMs.get(team) ?? 0) - performance.now();
      if (restMs > 0) await sleep(restMs, undefined, { signal });
    } catch (error) {
      release();
      throw error;
    }
    const beganMs = performance.now();
    return () => {
      release();
      const nowMs = performance.now();
      if (this.#restsUntilMs.size >= RESTS_MAX) this.#restsUntilMs.clear();
      this.#restsUntilMs.set(team, nowMs + Math.min(REST_MS_MAX, REST * (nowMs - beganMs)));
    };
  }
}
