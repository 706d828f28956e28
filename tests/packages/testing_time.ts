/**
 * The part of `@std/testing/time` that the tests use.
 *
 * The signatures match the original, so that `deno.json` may map `@std/testing` back to it.
 */

interface Timer {
  dueMs: number;
  readonly fire: () => void;
  /** Milliseconds until it fires again; null for a timer that fires once. */
  readonly everyMs: number | null;
}

type Callback = (...args: unknown[]) => void;

const real = { Date, setTimeout, clearTimeout, setInterval, clearInterval };

/** Replaces dates and timers; the time passes only as the test says. */
export class FakeTime implements Disposable {
  readonly #timers = new Map<number, Timer>();
  #nowMs: number;
  #timerCount = 0;

  /** @param start unix milliseconds, an instant or its text; the current time when absent */
  constructor(start?: number | string | Date | null) {
    this.#nowMs = start === undefined || start === null
      ? real.Date.now()
      : new real.Date(start).getTime();
    const now = () => this.#nowMs;
    const FakeDate = class extends real.Date {
      constructor(...args: []) {
        super(...(args.length === 0 ? [now()] : args) as []);
      }
      static override now = now;
    };
    const clear = (id: number) => void this.#timers.delete(id);
    const fakes = {
      Date: FakeDate,
      setTimeout: this.#setter(false),
      clearTimeout: clear,
      setInterval: this.#setter(true),
      clearInterval: clear,
    };
    Object.assign(globalThis, fakes);
  }

  /** Unix milliseconds; setting them fires the timers that are due then. */
  get now(): number {
    return this.#nowMs;
  }

  set now(toMs: number) {
    for (;;) {
      const next = this.#next();
      if (next === null || next[1].dueMs > toMs) break;
      this.#fire(...next);
    }
    this.#nowMs = toMs;
  }

  /** Lets milliseconds pass. */
  tick(ms = 0): void {
    this.now += ms;
  }

  /** Runs what waits for no timer, then lets milliseconds pass. */
  async tickAsync(ms = 0): Promise<void> {
    await this.runMicrotasks();
    this.tick(ms);
  }

  /** Lets the time pass up to the next timer; returns whether there is one. */
  next(): boolean {
    const next = this.#next();
    if (next !== null) this.#fire(...next);
    return next !== null;
  }

  /** Runs what waits for no timer, then lets the time pass up to the next timer. */
  async nextAsync(): Promise<boolean> {
    await this.runMicrotasks();
    return this.next();
  }

  /** Runs what waits for no timer. */
  async runMicrotasks(): Promise<void> {
    await new Promise((resolve) => real.setTimeout(resolve, 0));
  }

  /** Puts dates and timers back. */
  restore(): void {
    Object.assign(globalThis, real);
  }

  [Symbol.dispose](): void {
    this.restore();
  }

  #setter(isRepeated: boolean) {
    return (callback: Callback, ms = 0, ...args: unknown[]): number => {
      const fire = () => callback(...args);
      const everyMs = isRepeated ? Math.max(1, ms) : null;
      this.#timers.set(++this.#timerCount, { dueMs: this.#nowMs + Math.max(0, ms), fire, everyMs });
      return this.#timerCount;
    };
  }

  #next(): [id: number, timer: Timer] | null {
    return [...this.#timers].toSorted(([, a], [, b]) => a.dueMs - b.dueMs)[0] ?? null;
  }

  #fire(id: number, timer: Timer): void {
    this.#nowMs = timer.dueMs;
    if (timer.everyMs === null) this.#timers.delete(id);
    else timer.dueMs += timer.everyMs;
    timer.fire();
  }
}
