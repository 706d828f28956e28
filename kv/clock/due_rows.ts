/**
 * Rows of the due index, and the order in which the clock takes them.
 *
 * @module
 */
import type { DueRow } from "../../domain/clock/due.ts";
import { keyParts, keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";
import { FairQueue } from "../../runtime/fair_queue.ts";
import type { KvSet } from "../writer/write.ts";

/** Rows of the earliest times per turn, and rows after them in which other teams are found. */
const ROWS = { first: 500, ahead: 10_000 } as const;

/** Returns the set that files a row. */
export function dueSet(row: Omit<DueRow, "failures">, failures = 0): KvSet {
  return { key: dueKey(row), value: failures };
}

/** Returns the key of a row. */
export function dueKey({ at, kind, team, name }: Omit<DueRow, "failures">): Deno.KvKey {
  return keys.due(at, kind, team, name);
}

/** Takes due rows of teams in turn. */
export class DueRows {
  readonly #store: Store;
  /** Row after which the next turn finds other teams; null to begin after the earliest rows. */
  #ahead: Deno.KvKey | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Takes up to `max` rows that are due at `toMs`. */
  async take(toMs: number, max: number): Promise<readonly DueRow[]> {
    const { start, end } = keys.dueTo(toMs);
    const first = await this.#read({ start, end }, ROWS.first);
    const last = first.at(-1);
    const lanes = new FairQueue<DueRow>();
    for (const row of first) lanes.push(row.team, row);
    if (last !== undefined && first.length === ROWS.first) {
      const lastKey = dueKey(last);
      const isAhead = this.#ahead !== null && Number(this.#ahead[1]) > last.at;
      const from = isAhead ? this.#ahead as Deno.KvKey : lastKey;
      const ahead = await this.#read({ start: [...from, true], end }, ROWS.ahead);
      const lastAhead = ahead.at(-1);
      const isEnd = ahead.length < ROWS.ahead || lastAhead === undefined;
      this.#ahead = isEnd ? null : dueKey(lastAhead);
      for (const row of ahead) lanes.push(row.team, row);
    }
    const taken: DueRow[] = [];
    lanes.take((row) => taken.length < max && taken.push(row) > 0);
    return taken;
  }

  async #read(range: Deno.KvListSelector, limit: number): Promise<DueRow[]> {
    const rows = await listRows<number>(this.#store, range, { limit });
    return rows.map(({ key, value }) => ({ ...keyParts.due(key), failures: value }));
  }
}
