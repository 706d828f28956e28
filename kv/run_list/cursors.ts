/**
 * Places of runs in the index, newest first: one range of it, or several as one.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import type { RunPosition } from "../../domain/runs/list.ts";
import { listRows, type Store } from "../store.ts";
import type { Budget } from "./budget.ts";

/** A place in the order of lists, also between two runs. */
export interface IndexPosition {
  /** Unix milliseconds. */
  readonly at: number;
  /** The id of a run, or a text between two ids. */
  readonly run: string;
}

/** A run in the index. */
export interface Found extends RunPosition {
  /** What its row tells of it. */
  readonly value: unknown;
}

/** Places of runs that are visited from the newest on; each question lies behind the one before. */
export interface IndexCursor {
  /** The first place behind another one, at once where it is known; null behind the last. */
  behind(place: IndexPosition): Found | null | Promise<Found | null>;
  /**
   * Runs in a millisecond, going by what was read last; 0 where that was the last there is.
   *
   * @param newest from where on to count, unix milliseconds
   */
  rate(newest: number): number;
}

/** Rows of one read: at most what one batch of the runtime holds. */
const ROWS_PER_READ = { min: 16, max: 500 } as const;

/**
 * Rows of which one is visited, where reading them all takes as long as asking for each: leaping over
 * fewer saves nothing.
 */
const ROWS_PER_LEAP = 16;

/** The order of lists: what comes first is greater. */
export function comparePositionsInIndex(a: IndexPosition, b: IndexPosition): number {
  return a.at - b.at || (a.run < b.run ? -1 : a.run > b.run ? 1 : 0);
}

/** The place in front of a run that only the run itself lies behind directly. */
export function isBefore({ at, run }: IndexPosition): IndexPosition {
  return { at, run: `${run}\0` };
}

/** One range of the index. */
export class SingleIndexCursor implements IndexCursor {
  readonly #store: Store;
  readonly #rangeBehind: (place: IndexPosition) => Deno.KvListSelector;
  readonly #budget: Budget;
  #rows: readonly Found[] = [];
  #at = 0;
  #last: Found | undefined;
  #used = 0;
  #limit: number;
  #isEnd = false;

  /**
   * Has read nothing yet.
   *
   * @param rangeBehind the part of the range that lies behind a place
   * @param limit rows of the first read
   */
  constructor(
    store: Store,
    rangeBehind: (place: IndexPosition) => Deno.KvListSelector,
    budget: Budget,
    limit: number,
  ) {
    this.#store = store;
    this.#rangeBehind = rangeBehind;
    this.#budget = budget;
    this.#limit = withinBounds(limit);
  }

  /** The first place behind another one, at once where it was read; null behind the last. */
  behind(place: IndexPosition): Found | null | Promise<Found | null> {
    const next = this.#skipTo(place);
    if (next !== undefined || this.#isEnd) return this.#visit(next);
    return this.#read(place).then(() => this.#visit(this.#rows[0]));
  }

  #visit(next: Found | undefined): Found | null {
    if (next !== this.#last) this.#used++;
    this.#last = next;
    return next ?? null;
  }

  /** Runs in a millisecond, going by what was read last; 0 where that was the last there is. */
  rate(newest: number): number {
    const oldest = this.#rows.at(-1)?.at;
    if (this.#isEnd || oldest === undefined) return 0;
    return this.#rows.length / Math.max(1, newest - oldest);
  }

  #skipTo(place: IndexPosition): Found | undefined {
    for (; this.#at < this.#rows.length; this.#at++) {
      const row = this.#rows[this.#at] as Found;
      if (comparePositionsInIndex(row, place) < 0) return row;
    }
    return undefined;
  }

  /** Reads on, more at once where leaps are short. */
  async #read(place: IndexPosition): Promise<void> {
    if (this.#rows.length > 0) {
      const isDense = this.#used * ROWS_PER_LEAP > this.#rows.length;
      this.#limit = withinBounds(isDense ? this.#limit * 2 : this.#limit / 4);
    }
    const limit = withinBounds(Math.min(this.#limit, this.#budget.left));
    const options = { limit, reverse: true };
    const rows = await listRows(this.#store, this.#rangeBehind(place), options);
    this.#budget.spend(rows.length);
    this.#rows = rows.map(({ key, value }) => ({
      at: Number(key.at(-2)),
      run: key.at(-1) as RunId,
      value,
    }));
    this.#isEnd = rows.length < limit;
    this.#at = 0;
    this.#used = 0;
  }
}

/** All places of several, each once. */
export class MergedIndexCursor implements IndexCursor {
  readonly #members: readonly IndexCursor[];
  readonly #next: (Found | null | undefined)[];

  /** Joins places. */
  constructor(members: readonly IndexCursor[]) {
    this.#members = members;
    this.#next = members.map(() => undefined);
  }

  /** The first place behind another one; null behind the last. */
  behind(place: IndexPosition): Found | null | Promise<Found | null> {
    const waits: Promise<void>[] = [];
    for (const [i, member] of this.#members.entries()) {
      const known = this.#next[i];
      if (known === null || (known !== undefined && comparePositionsInIndex(known, place) < 0)) {
        continue;
      }
      const next = member.behind(place);
      if (next instanceof Promise) waits.push(next.then((read) => void (this.#next[i] = read)));
      else this.#next[i] = next;
    }
    return waits.length === 0 ? this.#first() : Promise.all(waits).then(() => this.#first());
  }

  #first(): Found | null {
    return this.#next.reduce<Found | null>((first, next) => {
      if (next === null || next === undefined) return first;
      return first === null || comparePositionsInIndex(next, first) > 0 ? next : first;
    }, null);
  }

  /** The sum of all. */
  rate(newest: number): number {
    return this.#members.reduce((sum, member) => sum + member.rate(newest), 0);
  }
}

function withinBounds(rows: number): number {
  return Math.min(ROWS_PER_READ.max, Math.max(ROWS_PER_READ.min, Math.floor(rows)));
}
