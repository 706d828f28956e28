/**
 * Background loops, which repeat a step until the process stops, and the waits after failures.
 *
 * @module
 */
import { retryAt } from "../domain/work/work.ts";

/** Milliseconds that most loops wait after a store failure. */
export const FAILURE_PAUSE_MS = 1_000;

/** Maximum milliseconds of a timer. */
const TIMER_MS_MAX = 2_147_483_647;

/**
 * Lets one caller sleep. A wake-up while none sleeps is stored: the next sleep ends immediately.
 */
export class Waker {
  #isAwake = false;
  #wakeUp: (() => void) | null = null;

  /** Wakes the sleeper, or makes its next sleep end immediately. */
  wake(): void {
    this.#isAwake = true;
    this.#wakeUp?.();
  }

  /** True if it was woken since the last sleep. */
  get isAwake(): boolean {
    return this.#isAwake;
  }

  /** Sleeps until woken, for at most `ms` milliseconds; null for no limit. */
  async wait(ms: number | null): Promise<void> {
    if (!this.#isAwake) await this.#sleep(ms);
    this.#isAwake = false;
  }

  /** Sleeps for `ms` milliseconds; only a later wake-up ends the sleep early. */
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

/** Decides whether this instance does the background work. */
export interface Leadership {
  /** True while it does. */
  readonly isLeader: boolean;
  /** Sets a callback for each time that it begins. */
  onBegin(begun: () => void): void;
}

/** The leadership of an instance that has its store alone. */
export const ALWAYS_LEADER: Leadership = { isLeader: true, onBegin: () => {} };

/** The leadership of an instance that has its store alone, but rests while other work has the store. */
export class LendableLeadership implements Leadership {
  isLeader = true;
  readonly #listeners: (() => void)[] = [];

  onBegin(begun: () => void): void {
    this.#listeners.push(begun);
  }

  /** Does work during which no step of this instance begins. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    this.isLeader = false;
    try {
      return await work();
    } finally {
      this.isLeader = true;
      this.#listeners.forEach((begun) => begun());
    }
  }
}

/** Repeats a step until stopped. */
export class Loop {
  /** Wakes the loop when there may be work, and when it stops. */
  readonly waker: Waker = new Waker();
  readonly #step: () => Promise<void>;
  readonly #failed: (error: unknown) => number;
  readonly #leadership: Leadership;
  /** Ends a rest early when the loop stops. */
  readonly #endOfRest = new Waker();
  #running: Promise<void> | null = null;
  #isStopped = false;
  /** Callers of {@link idle}. */
  #idle: PromiseWithResolvers<void> | null = null;

  /**
   * Creates a loop; `start` runs it.
   *
   * @param step runs one step and waits, if necessary, until the next one is due
   * @param failed handles the error of a step; returns the milliseconds to wait before the next one
   * @param leadership no step begins while another instance leads
   */
  constructor(
    step: () => Promise<void>,
    failed: (error: unknown) => number,
    leadership: Leadership = ALWAYS_LEADER,
  ) {
    this.#step = step;
    this.#failed = failed;
    this.#leadership = leadership;
    leadership.onBegin(() => this.waker.wake());
  }

  /** True once `stop` was called. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Starts the loop unless it runs; resolves when it has stopped. */
  start(): Promise<void> {
    return this.#running ??= this.#run();
  }

  /**
   * Resolves once a step that begins after this call has found nothing more to do, or at the stop. A
   * rest in progress ends early.
   */
  async idle(): Promise<void> {
    if (this.#isStopped) return;
    this.#idle ??= Promise.withResolvers();
    this.#endOfRest.wake();
    this.waker.wake();
    await this.#idle.promise;
  }

  /** True while a caller of {@link idle} waits. */
  get isAwaited(): boolean {
    return this.#idle !== null;
  }

  /** Waits for `ms` milliseconds; no work ends the wait early. */
  async rest(ms: number): Promise<void> {
    if (!this.#isStopped) await this.#endOfRest.pause(ms);
  }

  /** Waits for work until woken, for at most `ms` milliseconds; null for no limit. */
  async wait(ms: number | null): Promise<void> {
    if (this.#isStopped) return;
    // A wake-up during the step requires another step before the loop counts as idle.
    if (!this.waker.isAwake) this.#becomeIdle();
    await this.waker.wait(ms);
  }

  /** Finishes the current step and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.waker.wake();
    this.#endOfRest.wake();
    await this.#running;
    this.#becomeIdle();
  }

  #becomeIdle(): void {
    this.#idle?.resolve();
    this.#idle = null;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      if (!this.#leadership.isLeader) {
        await this.waker.wait(null);
        continue;
      }
      try {
        await this.#step();
      } catch (error) {
        const pauseMs = this.#failed(error);
        if (!this.#isStopped) await this.waker.pause(pauseMs);
      }
    }
  }
}

/** Resolves after some milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Waits for all promises even if one fails, so that work in progress ends before its loop rests or
 * stops.
 */
export async function allDone(work: readonly Promise<void>[]): Promise<void> {
  const ends = await Promise.allSettled(work);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

export interface CallCount {
  /** Number of calls that have changed the store so far. */
  readonly raised: number;
}

/** Dependencies of every job. */
export interface JobDeps {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Writes a log line about a failure or progress. */
  readonly log: (line: string) => void;
  /** Leadership of this instance, which always leads when absent. */
  readonly leadership?: Leadership;
}

/** Returns the log line of a job; an error is logged with its stack. */
export function jobLine(
  nowMs: number,
  job: Readonly<Record<string, unknown>>,
  error?: unknown,
): string {
  const stack = error instanceof Error ? error.stack : error && String(error);
  const failure = stack === undefined ? {} : { failure: stack };
  return JSON.stringify({ at: new Date(nowMs).toISOString(), ...job, ...failure });
}

/** Maximum names; beyond it, the oldest is dropped and so retried early. */
const NAMES_MAX = 1_000;

interface Pause {
  readonly untilMs: number;
  readonly tries: number;
}

/** Backoff state by name of the work. */
export class Backoff {
  readonly #now: () => number;
  readonly #pauses = new Map<string, Pause>();

  /** Creates an empty set; `now` returns unix milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records a failure: the first ones retry without a pause, later ones with increasing pauses. */
  add(name: string): void {
    const tries = (this.#pauses.get(name)?.tries ?? 0) + 1;
    this.#pauses.delete(name);
    const [oldest] = this.#pauses.keys();
    if (oldest !== undefined && this.#pauses.size >= NAMES_MAX) this.#pauses.delete(oldest);
    const untilMs = retryAt("soon", tries, this.#now());
    if (untilMs !== "dead") this.#pauses.set(name, { untilMs, tries });
  }

  /** Returns whether the work is in backoff. */
  has(name: string): boolean {
    const pause = this.#pauses.get(name);
    return pause !== undefined && pause.untilMs > this.#now();
  }

  /** Clears the backoff of completed work. */
  done(name: string): void {
    this.#pauses.delete(name);
  }

  /** Returns when the next pause ends, unix milliseconds; null when there is none. */
  nextMs(): number | null {
    const nowMs = this.#now();
    const ahead = [...this.#pauses.values()].map(({ untilMs }) => untilMs);
    const next = Math.min(...ahead.filter((ms) => ms > nowMs));
    return next === Infinity ? null : next;
  }
}
