/**
 * Cursors over the index of runs, newest first: one range, or several ranges merged.
 *
 * @module
 */
import {
  comparePositions,
  EntryReader,
  type Position,
  type StoredEntry,
} from "../index/entries.ts";
import type { Store } from "../store.ts";

/** Visits index entries from the newest on; each call must pass a position after the previous one. */
export interface IndexCursor {
  /**
   * Returns the first entry after a position, without a promise if it is already read; null at
   * the end. A position may be between two runs.
   */
  seek(position: Position): StoredEntry | null | Promise<StoredEntry | null>;
  /**
   * Returns the number of runs per millisecond, estimated from the latest read; 0 at the end.
   *
   * @param newest latest instant to count, unix milliseconds
   */
  rate(newest: number): number;
}

/** Entries of one read. The runtime reads at most 500 rows in a batch. */
const ENTRIES_PER_READ = { min: 16, max: 500 } as const;

/**
 * If more than one in this many entries is visited, reading all of them is faster than seeking
 * each.
 */
const ENTRIES_PER_SEEK = 16;

/** Returns the position directly before a run, so that `seek` returns that run. */
export function positionBefore({ at, run }: Position): Position {
  return { at, run: `${run}\0` };
}

/** Cursor over one range of the index. */
export class SingleIndexCursor implements IndexCursor {
  readonly #reader: EntryReader;
  readonly #budget: Budget;
  #entries: readonly StoredEntry[] = [];
  #at = 0;
  #last: StoredEntry | undefined;
  #used = 0;
  #limit: number;
  #isEnd = false;

  /**
   * @param order name of the index
   * @param fromMs earliest start, unix milliseconds
   * @param limit entries of the first read
   */
  constructor(store: Store, order: Deno.KvKey, fromMs: number, budget: Budget, limit: number) {
    this.#reader = new EntryReader(store, order, { end: { at: fromMs, run: "" }, reverse: true });
    this.#budget = budget;
    this.#limit = withinBounds(limit);
  }

  seek(position: Position): StoredEntry | null | Promise<StoredEntry | null> {
    const next = this.#skipTo(position);
    if (next !== undefined || this.#isEnd) return this.#visit(next);
    return this.#read(position).then(() => this.#visit(this.#entries[0]));
  }

  #visit(next: StoredEntry | undefined): StoredEntry | null {
    if (next !== this.#last) this.#used++;
    this.#last = next;
    return next ?? null;
  }

  rate(newest: number): number {
    const oldest = this.#entries.at(-1)?.at;
    if (this.#isEnd || oldest === undefined) return 0;
    return this.#entries.length / Math.max(1, newest - oldest);
  }

  #skipTo(position: Position): StoredEntry | undefined {
    for (; this.#at < this.#entries.length; this.#at++) {
      const entry = this.#entries[this.#at] as StoredEntry;
      if (comparePositions(entry, position) < 0) return entry;
    }
    return undefined;
  }

  /**
   * Reads the next entries: more of them a read if most are visited, fewer if most are skipped.
   */
  async #read(position: Position): Promise<void> {
    if (this.#entries.length > 0) {
      const isDense = this.#used * ENTRIES_PER_SEEK > this.#entries.length;
      this.#limit = withinBounds(isDense ? this.#limit * 2 : this.#limit / 4);
    }
    const limit = withinBounds(Math.min(this.#limit, this.#budget.left));
    const page = await this.#reader.read(position, limit);
    this.#budget.spend(page.rows, limit);
    this.#entries = page.entries;
    this.#isEnd = page.entries.length < limit;
    this.#at = 0;
    this.#used = 0;
  }
}

/** Merges several cursors; each run is visited once. */
export class MergedIndexCursor implements IndexCursor {
  readonly #members: readonly IndexCursor[];
  readonly #next: (StoredEntry | null | undefined)[];

  constructor(members: readonly IndexCursor[]) {
    this.#members = members;
    this.#next = members.map(() => undefined);
  }

  seek(position: Position): StoredEntry | null | Promise<StoredEntry | null> {
    const waits: Promise<void>[] = [];
    for (const [i, member] of this.#members.entries()) {
      const entry = this.#next[i];
      if (entry === null || (entry !== undefined && comparePositions(entry, position) < 0)) {
        continue;
      }
      const next = member.seek(position);
      if (next instanceof Promise) waits.push(next.then((read) => void (this.#next[i] = read)));
      else this.#next[i] = next;
    }
    return waits.length === 0 ? this.#first() : Promise.all(waits).then(() => this.#first());
  }

  #first(): StoredEntry | null {
    return this.#next.reduce<StoredEntry | null>((first, next) => {
      if (next === null || next === undefined) return first;
      return first === null || comparePositions(next, first) > 0 ? next : first;
    }, null);
  }

  /** Returns the sum of the rates of all members. */
  rate(newest: number): number {
    return this.#members.reduce((sum, member) => sum + member.rate(newest), 0);
  }
}

function withinBounds(entries: number): number {
  return Math.min(ENTRIES_PER_READ.max, Math.max(ENTRIES_PER_READ.min, Math.floor(entries)));
}

/** Fixed cost of one read, in rows: a read takes as long as reading this many additional rows. */
const ROWS_PER_READ = 25;

/**
 * Index rows that take as long to read as one summary. Summaries are scattered across the store.
 */
const ROWS_PER_SUMMARY = 12;

/**
 * Maximum blocks of one read that count. Many blocks may share one span; reading all of them must
 * not end a page before it has any run.
 */
const BLOCKS_COUNTED_MAX = 200;

/** Maximum runs that a search reads in vain. */
const SCAN_RUNS_MAX = 20_000;

/** Counts the rows that a page has read and may still read. */
export class Budget {
  rows = 0;
  left: number;
  readonly #endMs: number;

  /**
   * @param rowsMax rows that may be read; each read also has a fixed cost
   * @param endMs when nothing more should be read, by `performance.now()`
   */
  constructor(rowsMax: number, endMs: number = Infinity) {
    this.left = rowsMax;
    this.#endMs = endMs;
  }

  /** A budget of a search that reads runs one after the other, until some time has passed. */
  static ofScan(ms: number): Budget {
    return new Budget(SCAN_RUNS_MAX * ROWS_PER_SUMMARY, performance.now() + ms);
  }

  /** Counts one read of `rows` rows, for at most `entries` entries. */
  spend(rows: number, entries: number): void {
    this.rows += rows;
    this.left -= Math.min(rows, Math.max(entries, BLOCKS_COUNTED_MAX)) + ROWS_PER_READ;
  }

  /** Counts runs that were read but did not match. */
  spendOnRuns(count: number): void {
    this.left -= count * ROWS_PER_SUMMARY;
  }

  /** True if nothing more should be read. */
  get isSpent(): boolean {
    // However late it is, the first read leads on: else a page could not say where the next begins.
    return this.left <= 0 || this.rows > 0 && performance.now() >= this.#endMs;
  }
}
