/** Simulated time that advances only during waits. No code with deadlines may run meanwhile. */

/** Replaces the process's timers and its monotonic clock until disposed. */
export class FakeTime implements Disposable {
  /** The monotonic clock. */
  nowMs = 0;
  /** Duration of each wait, in order. */
  readonly waits: number[] = [];
  readonly #now = performance.now;
  readonly #setTimeout = globalThis.setTimeout;

  /** @param passes receives each amount of time that passes */
  constructor(passes: (ms: number) => void = () => {}) {
    performance.now = () => this.nowMs;
    const fake = (callback: () => void, ms = 0) => {
      this.waits.push(ms);
      this.nowMs += ms;
      passes(ms);
      return this.#setTimeout.call(globalThis, callback, 0);
    };
    globalThis.setTimeout = fake as unknown as typeof setTimeout;
  }

  [Symbol.dispose](): void {
    performance.now = this.#now;
    globalThis.setTimeout = this.#setTimeout;
  }
}
