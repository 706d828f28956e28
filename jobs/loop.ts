/**
 * Background loops: work that repeats until the process stops.
 *
 * @module
 */

/** Longest span a timer takes. */
const TIMER_MS_MAX = 2_147_483_647;

/** Lets one sleeper wait. A wake-up while nobody sleeps is kept: the next sleep ends at once. */
export class Waker {
  #isAwake = false;
  #wakeUp: (() => void) | null = null;

  /** Wakes the sleeper, now or when it sleeps next. */
  wake(): void {
    this.#isAwake = true;
    this.#wakeUp?.();
  }

  /** True if it was woken since the last sleep. */
  get isAwake(): boolean {
    return this.#isAwake;
  }

  /** Forgets that it was woken. */
  reset(): void {
    this.#isAwake = false;
  }

  /** Sleeps until it is woken, for `ms` milliseconds at most; null for as long as it takes. */
  async wait(ms: number | null): Promise<void> {
    if (!this.#isAwake) await this.#sleep(ms);
    this.#isAwake = false;
  }

  /** Sleeps for `ms` milliseconds; only a wake-up from now on ends it early. */
  async pause(ms: number): Promise<void> {
    this.#isAwake = false;
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

/** What a loop does. */
export interface LoopWork {
  /** Does one step and waits, if need be, until the next one is due. */
  step(): Promise<void>;
  /** Takes the error of a step; returns the milliseconds to wait before the next one. */
  failed(error: unknown): number;
}

/** Repeats a step until it is stopped. */
export class Loop {
  /** Wakes the loop when there may be something to do, and when it stops. */
  readonly waker: Waker = new Waker();
  readonly #work: LoopWork;
  /** Ends a rest early; only stopping does. */
  readonly #endOfRest = new Waker();
  #running: Promise<void> | null = null;
  #isStopped = false;

  /** Creates a loop that does not run yet. */
  constructor(work: LoopWork) {
    this.#work = work;
  }

  /** True if it was told to stop. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Starts to repeat the step, once; resolves when the loop has stopped. */
  start(): Promise<void> {
    return this.#running ??= this.#run();
  }

  /** Waits for `ms` milliseconds; only stopping ends it early. */
  async rest(ms: number): Promise<void> {
    if (!this.#isStopped) await this.#endOfRest.wait(ms);
  }

  /** Waits until it is woken, for `ms` milliseconds at most; null for as long as it takes. */
  async wait(ms: number | null): Promise<void> {
    if (!this.#isStopped) await this.waker.wait(ms);
  }

  /** Finishes the step under way and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.waker.wake();
    this.#endOfRest.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#work.step();
      } catch (error) {
        const pauseMs = this.#work.failed(error);
        if (!this.#isStopped) await this.waker.pause(pauseMs);
      }
    }
  }
}

/** Writes the log line of a job; its errors have their stack. */
export function jobLine(
  nowMs: number,
  job: Readonly<Record<string, unknown>>,
  error?: unknown,
): string {
  const stack = error instanceof Error ? error.stack : error && String(error);
  const failure = stack === undefined ? {} : { failure: stack };
  return JSON.stringify({ at: new Date(nowMs).toISOString(), ...job, ...failure });
}
