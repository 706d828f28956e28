/**
 * Intersects several ranges of the index, newest run first.
 *
 * All ranges share one sort order, so each cursor can seek past rows that the others lack (a
 * leapfrog join). A range with far more rows than the others is left out: reading the runs found
 * without it is faster than reading the range. So an intersection reads about as many rows as the
 * smallest range has.
 *
 * @module
 */
import type { RunPosition } from "../../domain/runs/list.ts";
import { comparePositions, type Position, type StoredEntry } from "../index/entries.ts";
import { type Budget, type IndexCursor, positionBefore } from "./cursors.ts";

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
      const next = this.#ranges.map((range) => range.seek(this.#from));
      const settled = areAllRead(next) ? next : await Promise.all(next);
      const rows = settled.filter((row) => row !== null);
      if (rows.length < settled.length) {
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

/** Returns true if no cursor returned a promise: awaiting takes longer than most steps. */
function areAllRead(
  next: readonly ReturnType<IndexCursor["seek"]>[],
): next is (StoredEntry | null)[] {
  return !next.some((settled) => settled instanceof Promise);
}

function newer(a: StoredEntry, b: StoredEntry): StoredEntry {
  return comparePositions(a, b) >= 0 ? a : b;
}

function older(a: StoredEntry, b: StoredEntry): StoredEntry {
  return comparePositions(a, b) <= 0 ? a : b;
}
