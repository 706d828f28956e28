/**
 * Reads a block of entries in one direction, one entry at a time.
 *
 * @module
 */
import { Block, type Position, type StoredEntry } from "./entries.ts";

/** The entries of a block that are left to read. */
export class BlockCursor {
  readonly #block: Block;
  readonly #isReverse: boolean;
  /** Indexes of the entries left, both inclusive. */
  #first = 0;
  #last: number;
  #next: StoredEntry | null = null;

  /** @param end position at which reading ends, exclusive */
  constructor(row: Deno.KvEntry<unknown>, isReverse: boolean, end: Position | null) {
    this.#block = new Block(row);
    this.#isReverse = isReverse;
    this.#last = this.#block.count - 1;
    if (end !== null) this.#drop(!isReverse, end);
  }

  /** Last position of the block's span. */
  get end(): number {
    return this.#block.end;
  }

  /** Number of entries left. */
  get left(): number {
    return this.#last - this.#first + 1;
  }

  /** Next entry; only while there is one. */
  get next(): StoredEntry {
    return this.#next ??= this.#block.entry(this.#isReverse ? this.#last : this.#first);
  }

  /** Drops the next entry. */
  advance(): void {
    if (this.#isReverse) this.#last--;
    else this.#first++;
    this.#next = null;
  }

  /** Drops entries up to a position in reading order. */
  skipTo(position: Position): void {
    this.#drop(this.#isReverse, position);
  }

  /** Drops entries from a position on: upwards from it if `isAbove`, else downwards. */
  #drop(isAbove: boolean, position: Position): void {
    const [first, last] = [this.#first, this.#last];
    if (isAbove) {
      while (this.left > 0 && this.#block.compare(this.#last, position) >= 0) this.#last--;
    } else {
      while (this.left > 0 && this.#block.compare(this.#first, position) <= 0) this.#first++;
    }
    if (first !== this.#first || last !== this.#last) this.#next = null;
  }
}
