/**
 * Backoff for failed work, so that it does not block other work.
 *
 * State is kept only in memory: after a restart, all work is retried immediately.
 *
 * @module
 */

/** Maximum names; beyond it, the oldest is dropped and so retried early. */
const NAMES_MAX = 1_000;

/** Attempts before the first pause: most failures are transient. */
const TRIES_AT_ONCE = 3;

/** Milliseconds of the first and the longest pause; each doubles the previous one. */
const PAUSE_MS = { first: 1_000, max: 300_000 } as const;

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
    const pauseMs = tries < TRIES_AT_ONCE
      ? 0
      : Math.min(PAUSE_MS.max, PAUSE_MS.first * 2 ** (tries - TRIES_AT_ONCE));
    this.#pauses.set(name, { untilMs: this.#now() + pauseMs, tries });
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
