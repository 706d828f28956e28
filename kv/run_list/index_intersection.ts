/**
 * Walking along the runs that several parts of the index have in common, newest first.
 *
 * All parts have the same order, so each leaps over what the others do not have. A part that holds far
 * more than the others is left out: looking at the runs found without it takes less than reading it. So
 * the walk reads about as much as the rarest part holds, not as much as the commonest.
 *
 * @module
 */
import type { RunPosition } from "../../domain/runs/list.ts";
import type { Budget } from "./budget.ts";
import {
  comparePositionsInIndex,
  type Found,
  type IndexCursor,
  type IndexPosition,
  isBefore,
} from "./cursors.ts";

/** A walk; it ends where any part does, or once its budget is spent. */
export class IndexIntersection {
  readonly #all: readonly IndexCursor[];
  readonly #budget: Budget;
  #parts: readonly IndexCursor[];
  #isChosen = false;
  #from: IndexPosition;
  /** What is not behind this run has been looked at; null until anything has. */
  passed: RunPosition | null = null;
  /** Whether there is nothing more to find. */
  isEnd = false;

  /**
   * Has looked at nothing yet.
   *
   * @param parts at least one
   * @param from where to begin behind
   */
  constructor(parts: readonly IndexCursor[], from: IndexPosition, budget: Budget) {
    this.#all = parts;
    this.#parts = parts;
    this.#from = from;
    this.#budget = budget;
  }

  /**
   * Goes on with the parts that are the rarest from here: for when most runs that are found are not what
   * is asked for, so that a part that was left out may have become rare.
   */
  chooseAgain(): void {
    this.#isChosen = false;
    this.#parts = this.#all;
  }

  /** The next run that its parts have; null at the end, and where the budget is spent. */
  async next(): Promise<Found | null> {
    while (!this.isEnd && !this.#budget.isSpent) {
      const next = this.#parts.map((part) => part.behind(this.#from));
      const found = isAllThere(next) ? next : await Promise.all(next);
      const places = found.filter((place) => place !== null);
      if (places.length < found.length) {
        this.isEnd = true;
        return null;
      }
      const [first, last] = [places.reduce(newer), places.reduce(older)];
      this.passed = first;
      if (!this.#isChosen) {
        this.#parts = rarest(this.#parts, first.at);
        this.#isChosen = true;
      }
      if (comparePositionsInIndex(first, last) === 0) {
        this.#from = first;
        return first;
      }
      // Whatever all parts have is the last of these places or lies behind it.
      this.#from = isBefore(last);
    }
    return null;
  }
}

/** Rows of a part between two runs of the others that take as long as looking at what it rules out. */
const ROWS_BETWEEN_MAX = 3.5;

/** The parts that are worth reading: the rarest, and those of which few rows lie between two runs of it. */
function rarest(parts: readonly IndexCursor[], newest: number): readonly IndexCursor[] {
  const rated = parts.map((part) => ({ part, rate: part.rate(newest) }))
    .sort((a, b) => a.rate - b.rate);
  // No part has more runs than there are, so there are as many at least.
  const most = Math.max(...rated.map(({ rate }) => rate));
  const chosen: IndexCursor[] = [];
  let left = Infinity;
  for (const { part, rate } of rated) {
    if (rate > left * ROWS_BETWEEN_MAX) break;
    chosen.push(part);
    left = chosen.length === 1 ? rate : left * rate / most;
  }
  return chosen;
}

/** Whether nothing has to be waited for, which takes longer than most steps. */
function isAllThere(next: readonly ReturnType<IndexCursor["behind"]>[]): next is (Found | null)[] {
  return !next.some((found) => found instanceof Promise);
}

function newer(a: Found, b: Found): Found {
  return comparePositionsInIndex(a, b) >= 0 ? a : b;
}

function older(a: Found, b: Found): Found {
  return comparePositionsInIndex(a, b) <= 0 ? a : b;
}
