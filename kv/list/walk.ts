/**
 * Walking along the runs that several parts of the index have in common, newest first.
 *
 * All parts have the same order, so each leaps over what the others do not have: the walk reads about as
 * much as the rarest part holds, not as much as the commonest.
 *
 * @module
 */
import type { RunPosition } from "../../domain/run/run_list.ts";
import type { Budget } from "./budget.ts";
import { comparePlaces, inFrontOf, type Place, type Places } from "./places.ts";

/** A walk; it ends where any part does, or once its budget is spent. */
export class Walk {
  readonly #parts: readonly Places[];
  readonly #budget: Budget;
  #from: Place;
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
  constructor(parts: readonly Places[], from: Place, budget: Budget) {
    this.#parts = parts;
    this.#from = from;
    this.#budget = budget;
  }

  /** The next run that all parts have; null at the end, and where the budget is spent. */
  async next(): Promise<RunPosition | null> {
    while (!this.isEnd && !this.#budget.isSpent) {
      const found = await Promise.all(this.#parts.map((part) => part.behind(this.#from)));
      const places = found.filter((place) => place !== null);
      if (places.length < found.length) {
        this.isEnd = true;
        return null;
      }
      const [first, last] = [places.reduce(newer), places.reduce(older)];
      this.passed = first;
      if (comparePlaces(first, last) === 0) {
        this.#from = first;
        return first;
      }
      // Whatever all parts have is the last of these places or lies behind it.
      this.#from = inFrontOf(last);
    }
    return null;
  }
}

function newer(a: RunPosition, b: RunPosition): RunPosition {
  return comparePlaces(a, b) >= 0 ? a : b;
}

function older(a: RunPosition, b: RunPosition): RunPosition {
  return comparePlaces(a, b) <= 0 ? a : b;
}
