/**
 * Remembers recently written ids.
 *
 * @module
 */

/** Upper bound of an id's bytes in a set. */
const ID_BYTES = 120;

/** Number of sets; all but the latest are full. */
const GENERATIONS = 2;

/**
 * A bounded set that drops its oldest ids, a generation at a time. It stores only ids: on the path
 * of every write, inserting into a full cache took longer than preparing the write.
 */
export class RecentIds {
  /** Maximum ids of a generation. */
  readonly #max: number;
  #young = new Set<string>();
  #old = new Set<string>();

  /** Creates a set with at most this many bytes, of the last ids. */
  constructor(bytesMax: number) {
    this.#max = Math.max(1, Math.floor(bytesMax / GENERATIONS / ID_BYTES));
  }

  /** Bytes of all ids. */
  get bytes(): number {
    return ID_BYTES * (this.#young.size + this.#old.size);
  }

  /** Returns whether an id was added recently; older ids may have been dropped. */
  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  /** Adds an id, which must not be a slice of a longer string. */
  add(id: string): void {
    if (this.#young.size >= this.#max) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}
