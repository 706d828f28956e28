/** Sleeping until somebody rings. A ring while awake is not lost: the next sleep ends at once. */

/** Longest span a timer takes. */
const TIMER_MS_MAX = 2_147_483_647;

/** An alarm for one sleeper. */
export class Waker {
  #rung = false;
  #wakeUp: (() => void) | null = null;

  /** Wakes the sleeper, now or when it goes to sleep next. */
  wake(): void {
    this.#rung = true;
    this.#wakeUp?.();
  }

  /** Whether it rang since the last sleep. */
  get isAwake(): boolean {
    return this.#rung;
  }

  /** Takes note of the ring. */
  reset(): void {
    this.#rung = false;
  }

  /** Sleeps until it rings, or for as long as said. */
  async wait(ms: number | null): Promise<void> {
    if (!this.#rung) await this.#sleep(ms);
    this.#rung = false;
  }

  /** Sleeps for as long as said even if it rang before; only a ring from now on ends it early. */
  async pause(ms: number): Promise<void> {
    this.#rung = false;
    await this.wait(ms);
  }

  async #sleep(ms: number | null): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeUp = resolve;
    const timer = ms === null ? undefined : setTimeout(resolve, Math.min(ms, TIMER_MS_MAX));
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#wakeUp = null;
    }
  }
}
