/**
 * Reads the entries of an order, whether they have rows of their own or share blocks.
 *
 * @module
 */
import {
  Block,
  comparePositions,
  type Position,
  spanEnd,
  type StoredEntry,
} from "./base/entries.ts";
import { keyParts, keys } from "./base/keys.ts";
import { listRows, type Store } from "./store.ts";

/** Entries of a range, in order. */
export interface EntryPage {
  /** Fewer than the limit at the end of the range. */
  readonly entries: readonly StoredEntry[];
  /** Number of rows that were read. */
  readonly rows: number;
}

/** Blocks per read: at first, and at most; each read has twice as many as the one before. */
const BLOCKS_PER_READ = { first: 32, max: 128 } as const;

/** Sorts after every number and text in a key. */
const LAST = true;

/** Options of an {@link EntryReader}. */
export interface EntryReading {
  /** Position at which the reader ends, exclusive; null for none. */
  readonly end: Position | null;
  /** True to begin with the last entry. */
  readonly reverse: boolean;
  /** Least number of the blocks in the first span, reading forwards; without it, all blocks. */
  readonly fromBlock?: number;
}

/**
 * Reads the entries of an order, part by part in one direction. It keeps blocks in memory until all
 * their entries are read.
 *
 * An entry whose value changes may move from its block to a row of its own, never the other way. So
 * the reader reads the blocks of a range before the other rows of it: no entry is missed.
 */
export class EntryReader {
  readonly #store: Store;
  readonly #order: Deno.KvKey;
  readonly #end: Position | null;
  readonly #isReverse: boolean;
  readonly #fromBlock: number;
  /** Blocks with entries left; once sorted, the block with the next entry is the last one. */
  #blocks: BlockCursor[] = [];
  /** Next entries of blocks, in reading order. */
  #next: StoredEntry[] = [];
  /** Block that was read last; null to begin with the span of a position. */
  #lastBlock: Deno.KvKey | null = null;
  /** True if no further blocks are in range. */
  #hasAllBlocks = false;
  #blocksPerRead: number = BLOCKS_PER_READ.first;
  #rows = 0;

  constructor(store: Store, order: Deno.KvKey, { end, reverse, fromBlock = 0 }: EntryReading) {
    this.#store = store;
    this.#order = order;
    this.#end = end;
    this.#isReverse = reverse;
    this.#fromBlock = fromBlock;
  }

  /**
   * Reads the next entries.
   *
   * @param from position after which to begin in reading order, at or after those read so far; null
   * for the first entry
   */
  async read(from: Position | null, limit: number): Promise<EntryPage> {
    this.#rows = 0;
    if (from !== null && this.#end !== null && this.#compare(from, this.#end) >= 0) {
      return { entries: [], rows: 0 };
    }
    this.#skipTo(from);
    while (!this.#hasAllBlocks && this.#completeEntries() < limit) await this.#readBlocks(from);
    this.#blocks.sort((a, b) => this.#compare(b.next, a.next));
    this.#decode(limit);
    const shared = this.#next.slice(0, limit);
    // Single entries after the last of these are not needed.
    const end = shared.length < limit ? this.#end : shared.at(-1) ?? null;
    const single = await this.#readSingle(from, end, limit);
    const entries = shared.length === 0 ? single : this.#merge(single, shared).slice(0, limit);
    return { entries, rows: this.#rows };
  }

  /** Drops entries up to a position. */
  #skipTo(from: Position | null): void {
    if (from === null) return;
    const last = this.#lastBlock;
    if (last !== null && !this.#hasAllBlocks) {
      const [end, next] = [keyParts.position(last), spanEnd(from.at)];
      // Spans between the blocks in memory and the position are not read.
      if (this.#isReverse ? next < end : next > end) {
        [this.#blocks, this.#next, this.#lastBlock] = [[], [], null];
        return;
      }
    }
    this.#next = this.#next.filter((entry) => this.#compare(entry, from) > 0);
    for (const block of this.#blocks) block.skipTo(from);
    this.#blocks = this.#blocks.filter(({ left }) => left > 0);
  }

  /**
   * Counts the entries before the span of the last block. Blocks of one span overlap, so a span is
   * complete when all its blocks are read.
   */
  #completeEntries(): number {
    let count = this.#next.length;
    for (const block of this.#blocks) if (this.#isComplete(block)) count += block.left;
    return count;
  }

  #isComplete({ end }: BlockCursor): boolean {
    return this.#hasAllBlocks || this.#lastBlock === null ||
      end !== keyParts.position(this.#lastBlock);
  }

  /** Reads the next blocks, first those of the span of a position. */
  async #readBlocks(from: Position | null): Promise<void> {
    const prefix = keys.blocks(this.#order);
    const [last, end] = [this.#lastBlock, this.#end];
    const selector = { start: prefix, end: [...prefix, LAST] };
    if (this.#isReverse) {
      if (end !== null) selector.start = [...prefix, spanEnd(end.at)];
      if (from !== null) selector.end = [...prefix, spanEnd(from.at), LAST];
      if (last !== null) selector.end = [...last];
    } else {
      if (from !== null) selector.start = [...prefix, spanEnd(from.at), this.#fromBlock];
      if (last !== null) selector.start = [...last, LAST];
      if (end !== null) selector.end = [...prefix, spanEnd(end.at), LAST];
    }
    const limit = this.#blocksPerRead;
    const rows = await this.#list(selector, limit);
    this.#blocksPerRead = Math.min(BLOCKS_PER_READ.max, limit * 2);
    this.#lastBlock = rows.at(-1)?.key ?? last;
    this.#hasAllBlocks = rows.length < limit;
    for (const row of rows) {
      const block = new BlockCursor(row, this.#isReverse, end);
      if (from !== null) block.skipTo(from);
      if (block.left > 0) this.#blocks.push(block);
    }
  }

  /** Decodes entries of complete blocks until there are `count`. */
  #decode(count: number): void {
    while (this.#next.length < count) {
      const block = this.#blocks.at(-1);
      if (block === undefined || !this.#isComplete(block)) return;
      this.#next.push(block.next);
      this.#blocks.pop();
      block.advance();
      if (block.left > 0) this.#insert(block);
    }
  }

  /** Inserts a block in order. */
  #insert(block: BlockCursor): void {
    let [from, to] = [0, this.#blocks.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = this.#blocks[middle] as BlockCursor;
      if (this.#compare(other.next, block.next) > 0) from = middle + 1;
      else to = middle;
    }
    this.#blocks.splice(from, 0, block);
  }

  /** Reads entries that have rows of their own. */
  async #readSingle(from: Position | null, to: Position | null, limit: number) {
    const [after, before] = this.#isReverse ? [to, from] : [from, to];
    const rows = await this.#list({
      start: after === null ? this.#order : [...this.#order, after.at, after.run, LAST],
      end: [...this.#order, ...before === null ? [LAST] : [before.at, before.run]],
    }, limit);
    return rows.map(({ key, value }) => ({
      at: keyParts.position(key),
      run: keyParts.run(key),
      value,
      row: key,
    }));
  }

  async #list(selector: Deno.KvListSelector, limit: number): Promise<Deno.KvEntry<unknown>[]> {
    const rows = await listRows(this.#store, selector, { limit, reverse: this.#isReverse });
    this.#rows += rows.length;
    return rows;
  }

  /** Merges entries; of an entry that moved during the read, keeps the newer row. */
  #merge(single: readonly StoredEntry[], shared: readonly StoredEntry[]): StoredEntry[] {
    const merged: StoredEntry[] = [];
    let at = 0;
    for (const entry of single) {
      for (; at < shared.length; at++) {
        const other = shared[at] as StoredEntry;
        const order = this.#compare(other, entry);
        if (order > 0) break;
        if (order < 0) merged.push(other);
      }
      merged.push(entry);
    }
    return merged.concat(shared.slice(at));
  }

  /** Compares two positions in reading order. */
  #compare(a: Position, b: Position): number {
    return this.#isReverse ? comparePositions(b, a) : comparePositions(a, b);
  }
}

/** The entries of a block that are left to read. */
class BlockCursor {
  readonly #block: Block;
  readonly #isReverse: boolean;
  /** Indexes of the entries left, both inclusive. */
  #first = 0;
  #last: number;
  #next: StoredEntry | null = null;

  /** @param end position at which reading ends, exclusive */
  constructor(row: Deno.KvEntry<unknown>, isReverse: boolean, end: Position | null) {
    [this.#block, this.#isReverse] = [new Block(row), isReverse];
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
