/**
 * The doorbell: tells whoever works on dirty runs that there are some.
 *
 * In this process a commit wakes the worker at once. For other processes, and for platforms that put
 * an idle one to sleep, the same commit also carries a queue message: at most one outstanding, because
 * delivering one takes the store longer than many commits. The dirty set is the truth; a bell that is
 * lost costs a minute at most.
 *
 * @module
 */

/** Milliseconds between two messages: in between the worker is awake anyway. */
const BELL_INTERVAL_MS = 1_000;

/** What a message says; its arrival is all that counts. */
const BELL = { kind: "dirty" } as const;

/** Rings for the worker. */
export class Doorbell {
  readonly #queue: Deno.Kv | null;
  #wake: () => void = () => {};
  #outstanding = false;
  #lastMs = -Infinity;
  #rings = 0;

  /** A doorbell; without a queue it only rings in this process. */
  constructor(queue: Deno.Kv | null) {
    this.#queue = queue;
  }

  /** Calls back for each ring from now on. Resolves once the store is closed. */
  async listen(wake: () => void): Promise<void> {
    this.#wake = wake;
    await this.#queue?.listenQueue(() => {
      this.#outstanding = false;
      wake();
    });
  }

  /** Adds a message to a commit that has marks, when one is due; answers whether it did. */
  addTo(operation: Deno.AtomicOperation): boolean {
    if (this.#queue === null || this.#outstanding) return false;
    const nowMs = performance.now();
    if (nowMs - this.#lastMs < BELL_INTERVAL_MS) return false;
    this.#outstanding = true;
    this.#lastMs = nowMs;
    operation.enqueue(BELL);
    return true;
  }

  /** How often it rang: it tells whether calls come in. */
  get rings(): number {
    return this.#rings;
  }

  /** Tells that a commit with marks is on disk. */
  ring(): void {
    this.#rings++;
    this.#wake();
  }

  /** Tells that a commit with a message did not happen. */
  missed(): void {
    this.#outstanding = false;
  }
}
