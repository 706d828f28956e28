/**
 * Ids written a short while ago.
 *
 * @module
 */

/** Ids of one generation; two are kept, about 10 MB in all. */
const GENERATION_IDS_MAX = 50_000;

/**
 * A bounded set that forgets its oldest ids, a generation at a time. It keeps nothing but the ids: on
 * the way of every write, an entry of a full cache took longer to keep than the write to prepare.
 */
export class RecentIds {
  readonly #max: number;
  #young = new Set<string>();
  #old = new Set<string>();

  /** Remembers the last `max` ids at least, and twice as many at most. */
  constructor(max = GENERATION_IDS_MAX) {
    this.#max = max;
  }

  /** Whether an id was added lately; those of long ago may be forgotten. */
  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  /** Adds an id. */
  add(id: string): void {
    if (this.#young.size >= this.#max) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}
