/**
 * Cursors over the index of runs, newest first: one range, or several ranges merged.
 *
 * @module
 */
import { keyParts } from "../base/keys.ts";
import type { RunPosition } from "../../domain/runs/list.ts";
import { listRows, type Store } from "../store.ts";
import type { Budget } from "./budget.ts";

/** A position in list order; it may be between two runs. */
export interface IndexPosition {
  /** Start of the run, unix milliseconds. */
  readonly at: number;
  /** A run id, or a text that sorts between two ids. */
  readonly run: string;
}

/** One row of the index. */
export interface Found extends RunPosition {
  /** Value of the row; see `index_value.ts`. */
  readonly value: unknown;
}

/** Visits index rows from the newest on; each call must pass a position after the previous one. */
export interface IndexCursor {
  /**
   * Returns the first row after a position, without a promise if it is already read; null at the
   * end.
   */
  seek(position: IndexPosition): Found | null | Promise<Found | null>;
  /**
   * Returns the number of runs per millisecond, estimated from the latest read; 0 at the end.
   *
   * @param newest latest instant to count, unix milliseconds
   */
  rate(newest: number): number;
}

/** Rows of one read. The runtime reads at most 500 rows in a batch. */
const ROWS_PER_READ = { min: 16, max: 500 } as const;

/**
 * If more than one in this many rows is visited, reading all of them is faster than seeking each.
 */
const ROWS_PER_SEEK = 16;

/** Compares two positions in list order; the one that comes first in a list is greater. */
export function comparePositionsInIndex(a: IndexPosition, b: IndexPosition): number {
  return a.at - b.at || (a.run < b.run ? -1 : a.run > b.run ? 1 : 0);
}

/** Returns the position directly before a run, so that `seek` returns that run. */
export function positionBefore({ at, run }: IndexPosition): IndexPosition {
  return { at, run: `${run}\0` };
}

/** Cursor over one range of the index. */
export class SingleIndexCursor implements IndexCursor {
  readonly #store: Store;
  readonly #rangeAfter: (position: IndexPosition) => Deno.KvListSelector;
  readonly #budget: Budget;
  #rows: readonly Found[] = [];
  #at = 0;
  #last: Found | undefined;
  #used = 0;
  #limit: number;
  #isEnd = false;

  /**
   * @param rangeAfter returns the part of the range after a position
   * @param limit rows of the first read
   */
  constructor(
    store: Store,
    rangeAfter: (position: IndexPosition) => Deno.KvListSelector,
    budget: Budget,
    limit: number,
  ) {
    this.#store = store;
    this.#rangeAfter = rangeAfter;
    this.#budget = budget;
    this.#limit = withinBounds(limit);
  }

  seek(position: IndexPosition): Found | null | Promise<Found | null> {
    const next = this.#skipTo(position);
    if (next !== undefined || this.#isEnd) return this.#visit(next);
    return this.#read(position).then(() => this.#visit(this.#rows[0]));
  }

  #visit(next: Found | undefined): Found | null {
    if (next !== this.#last) this.#used++;
    this.#last = next;
    return next ?? null;
  }

  rate(newest: number): number {
    const oldest = this.#rows.at(-1)?.at;
    if (this.#isEnd || oldest === undefined) return 0;
    return this.#rows.length / Math.max(1, newest - oldest);
  }

  #skipTo(position: IndexPosition): Found | undefined {
    for (; this.#at < this.#rows.length; this.#at++) {
      const row = this.#rows[this.#at] as Found;
      if (comparePositionsInIndex(row, position) < 0) return row;
    }
    return undefined;
  }

  /**
   * Reads the next rows: more rows a read if most of them are visited, fewer if most are skipped.
   */
  async #read(position: IndexPosition): Promise<void> {
    if (this.#rows.length > 0) {
      const isDense = this.#used * ROWS_PER_SEEK > this.#rows.length;
      this.#limit = withinBounds(isDense ? this.#limit * 2 : this.#limit / 4);
    }
    const limit = withinBounds(Math.min(this.#limit, this.#budget.left));
    const options = { limit, reverse: true };
    const rows = await listRows(this.#store, this.#rangeAfter(position), options);
    this.#budget.spend(rows.length);
    this.#rows = rows.map(({ key, value }) => ({
      at: keyParts.position(key),
      run: keyParts.run(key),
      value,
    }));
    this.#isEnd = rows.length < limit;
    this.#at = 0;
    this.#used = 0;
  }
}

/** Merges several cursors; each run is visited once. */
export class MergedIndexCursor implements IndexCursor {
  readonly #members: readonly IndexCursor[];
  readonly #next: (Found | null | undefined)[];

  constructor(members: readonly IndexCursor[]) {
    this.#members = members;
    this.#next = members.map(() => undefined);
  }

  seek(position: IndexPosition): Found | null | Promise<Found | null> {
    const waits: Promise<void>[] = [];
    for (const [i, member] of this.#members.entries()) {
      const row = this.#next[i];
      if (row === null || (row !== undefined && comparePositionsInIndex(row, position) < 0)) {
        continue;
      }
      const next = member.seek(position);
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

  /** Returns the sum of the rates of all members. */
  rate(newest: number): number {
    return this.#members.reduce((sum, member) => sum + member.rate(newest), 0);
  }
}

function withinBounds(rows: number): number {
  return Math.min(ROWS_PER_READ.max, Math.max(ROWS_PER_READ.min, Math.floor(rows)));
}
