/**
 * Ids written a short while ago.
 *
 * @module
 */

/** Bytes of an id in a set, from above. */
const ID_BYTES = 120;

/** Sets that ids are kept in: each but the latest is full. */
const GENERATIONS = 2;

/**
 * A bounded set that forgets its oldest ids, a generation at a time. It keeps nothing but the ids: on
 * the way of every write, an entry of a full cache took longer to keep than the write to prepare.
 */
export class RecentIds {
  readonly #max: number;
  #young = new Set<string>();
  #old = new Set<string>();

  /** Remembers the last `max` ids at least, and twice as many at most. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Returns the `max` of a set that takes so many bytes at most. */
  static within(bytes: number): number {
    return Math.max(1, Math.floor(bytes / GENERATIONS / ID_BYTES));
  }

  /** Bytes that the ids take. */
  get bytes(): number {
    return ID_BYTES * (this.#young.size + this.#old.size);
  }

  /** Whether an id was added a short while ago; those of long ago may be forgotten. */
  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  /** Adds an id, which must be no slice of a longer text. */
  add(id: string): void {
    if (this.#young.size >= this.#max) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}
