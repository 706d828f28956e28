/**
 * Backoff for failed work, so that it does not block other work.
 *
 * State is kept only in memory: after a restart, all work is retried immediately.
 *
 * @module
 */
import { retryAt } from "../domain/work/work.ts";

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
