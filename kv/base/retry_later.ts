/**
 * Work that failed by itself and is tried again later, so that it holds up nothing else.
 *
 * It is kept in memory alone: after a restart all of it is tried at once.
 *
 * @module
 */

/** Names that are kept; beyond, the one put off first is tried again early. */
const NAMES_MAX = 1_000;

/** Tries before the first pause: most failures are over at once. */
const TRIES_AT_ONCE = 3;

/** Milliseconds of the first pause, and of the longest; each is twice the one before. */
const PAUSE_MS = { first: 1_000, max: 300_000 } as const;

interface Pause {
  readonly untilMs: number;
  readonly tries: number;
}

/** Names of work that is put off. */
export class PutOff {
  readonly #now: () => number;
  readonly #pauses = new Map<string, Pause>();

  /** Creates an empty list; `now` is in unix milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Puts work off: the first times for no longer than its next turn, then for longer each time. */
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

  /** Returns whether work still pauses. */
  has(name: string): boolean {
    const pause = this.#pauses.get(name);
    return pause !== undefined && pause.untilMs > this.#now();
  }

  /** Forgets work that is done. */
  done(name: string): void {
    this.#pauses.delete(name);
  }

  /** Returns when the next pause ends, unix milliseconds; null when none is under way. */
  nextMs(): number | null {
    const nowMs = this.#now();
    const ahead = [...this.#pauses.values()].map(({ untilMs }) => untilMs);
    const next = Math.min(...ahead.filter((ms) => ms > nowMs));
    return next === Infinity ? null : next;
  }
}
