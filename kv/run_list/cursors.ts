/**
 * Cursors over the index of runs, newest first: one range, several ranges merged, and the runs that
 * are in several ranges.
 *
 * All ranges share one sort order, so each cursor can seek past rows that the others lack (a
 * leapfrog join). A range with far more rows than the others is left out: reading the runs found
 * without it is faster than reading the range. So an intersection reads about as many rows as the
 * smallest range has.
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
import type { RunPosition } from "../../domain/runs/list.ts";

/** Visits index entries from the newest on; each call must pass a position after the previous one. */
export interface IndexCursor {
  /**
   * Returns the first entry after a position; null at the end, undefined if it must be read. A position
   * may be between two runs.
   */
  peek(position: Position): StoredEntry | null | undefined;
  /** Reads the entry for which `peek` returned undefined. */
  read(position: Position): Promise<unknown>;
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

/** Returns the position directly before a run, so that `peek` returns that run. */
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

  peek(position: Position): StoredEntry | null | undefined {
    for (; this.#at < this.#entries.length; this.#at++) {
      const entry = this.#entries[this.#at] as StoredEntry;
      if (comparePositions(entry, position) >= 0) continue;
      if (entry !== this.#last) this.#used++;
      this.#last = entry;
      return entry;
    }
    return this.#isEnd ? null : undefined;
  }

  rate(newest: number): number {
    const oldest = this.#entries.at(-1)?.at;
    if (this.#isEnd || oldest === undefined) return 0;
    return this.#entries.length / Math.max(1, newest - oldest);
  }

  /**
   * Reads the next entries: more of them a read if most are visited, fewer if most are skipped.
   */
  async read(position: Position): Promise<void> {
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
  constructor(readonly members: readonly IndexCursor[]) {}

  peek(position: Position): StoredEntry | null | undefined {
    let first: StoredEntry | null = null;
    for (const member of this.members) {
      const next = member.peek(position);
      if (next === undefined) return undefined;
      if (next !== null && (first === null || comparePositions(next, first) > 0)) first = next;
    }
    return first;
  }

  read(position: Position): Promise<unknown> {
    return readMissing(this.members, position);
  }

  /** Returns the sum of the rates of all members. */
  rate(newest: number): number {
    return this.members.reduce((sum, member) => sum + member.rate(newest), 0);
  }
}

function readMissing(cursors: readonly IndexCursor[], position: Position): Promise<unknown> {
  const missing = cursors.filter((cursor) => cursor.peek(position) === undefined);
  return Promise.all(missing.map((cursor) => cursor.read(position)));
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

/**
 * Finds the runs that are in all ranges. Stops at the end of any range, or when the budget is
 * spent.
 */
export class IndexIntersection {
  readonly #all: readonly IndexCursor[];
  readonly #budget: Budget;
  #ranges: readonly IndexCursor[];
  #isChosen = false;
  #from: Position;
  /** The run up to which all ranges are searched; null before the first step. */
  passed: RunPosition | null = null;
  /** True if no more runs can be found. */
  isEnd = false;

  /**
   * @param ranges ranges to intersect, at least one
   * @param from position after which to begin
   */
  constructor(ranges: readonly IndexCursor[], from: Position, budget: Budget) {
    [this.#all, this.#ranges, this.#from, this.#budget] = [ranges, ranges, from, budget];
  }

  /**
   * Selects the smallest ranges again from the current position. Call it when most runs found do
   * not match: a range that was left out may be small here.
   */
  chooseAgain(): void {
    [this.#isChosen, this.#ranges] = [false, this.#all];
  }

  /**
   * Returns the next run that is in all selected ranges; null at the end, or when the budget is
   * spent.
   */
  async next(): Promise<StoredEntry | null> {
    while (!this.isEnd && !this.#budget.isSpent) {
      const peek = () => this.#ranges.map((range) => range.peek(this.#from));
      let next = peek();
      if (next.includes(undefined)) {
        await readMissing(this.#ranges, this.#from);
        next = peek();
      }
      const rows = next.filter((row) => row !== null && row !== undefined);
      if (rows.length < next.length) {
        this.isEnd = true;
        return null;
      }
      const [first, last] = [rows.reduce(newer), rows.reduce(older)];
      this.passed = first;
      if (!this.#isChosen) {
        this.#ranges = rarest(this.#ranges, first.at);
        this.#isChosen = true;
      }
      if (comparePositions(first, last) === 0) {
        this.#from = first;
        return first;
      }
      // The next common run is the oldest of these rows, or after it.
      this.#from = positionBefore(last);
    }
    return null;
  }
}

/**
 * Rows of a range, for each run of the others, that take as long to read as the runs it rules out.
 */
const ROWS_BETWEEN_MAX = 3.5;

/**
 * Selects the ranges that are worth reading: the smallest, and those with few rows for each of its
 * runs.
 */
function rarest(ranges: readonly IndexCursor[], newest: number): readonly IndexCursor[] {
  const rated = ranges.map((range) => ({ range, rate: range.rate(newest) }))
    .sort((a, b) => a.rate - b.rate);
  // The largest range is a lower bound for the number of runs.
  const most = Math.max(...rated.map(({ rate }) => rate));
  const chosen: IndexCursor[] = [];
  let expected = Infinity;
  for (const { range, rate } of rated) {
    if (rate > expected * ROWS_BETWEEN_MAX) break;
    chosen.push(range);
    expected = chosen.length === 1 ? rate : expected * rate / most;
  }
  return chosen;
}

function newer(a: StoredEntry, b: StoredEntry): StoredEntry {
  return comparePositions(a, b) >= 0 ? a : b;
}

function older(a: StoredEntry, b: StoredEntry): StoredEntry {
  return comparePositions(a, b) <= 0 ? a : b;
}
