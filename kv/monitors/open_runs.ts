/**
 * Finds the open runs of an agent, oldest first.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  agentPart,
  comparePositions,
  EntryReader,
  type Position,
  type StoredEntry,
} from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import type { Store } from "../store.ts";

/** Index entries of one read, and maximum rows of one search. */
const ROWS = { perRead: 16, max: 1_000 } as const;

/**
 * Finds open runs of an agent by their start. It reads a bounded number of rows, so it may end early.
 *
 * @param after position after which to begin; null for the oldest run
 * @param toMs latest start, unix milliseconds
 * @returns the runs in order, and the position up to which all were found
 */
export async function findOpenRuns(
  store: Store,
  team: TeamId,
  agent: string,
  after: Position | null,
  toMs: number,
) {
  const end = { at: toMs + 1, run: "" };
  const ofAgent = new Cursor(store, keys.runsBy(team, "agent", agentPart(agent)), end);
  const open = new Cursor(store, keys.runsBy(team, "status", "running"), end);
  const runs: StoredEntry[] = [];
  let from = after === null ? { at: 0, run: "" } : following(after);
  while (ofAgent.rows + open.rows < ROWS.max) {
    const [a, b] = [await ofAgent.seek(from), await open.seek(from)];
    if (a === null || b === null) return { runs, passed: runs.at(-1) ?? after };
    const order = comparePositions(a, b);
    if (order === 0) runs.push(a);
    from = order === 0 ? following(a) : order < 0 ? b : a;
  }
  return { runs, passed: from };
}

/** Returns the position directly after one. */
function following({ at, run }: Position): Position {
  return { at, run: `${run}\0` };
}

/** Visits the entries of an order, oldest first. */
class Cursor {
  /** Rows read so far. */
  rows = 0;
  readonly #reader: EntryReader;
  #entries: readonly StoredEntry[] = [];
  #at = 0;
  #isEnd = false;

  constructor(store: Store, order: Deno.KvKey, end: Position) {
    this.#reader = new EntryReader(store, order, { end, reverse: false });
  }

  /** Returns the first entry at a position or after it; null at the end. */
  async seek(position: Position): Promise<StoredEntry | null> {
    while (true) {
      for (; this.#at < this.#entries.length; this.#at++) {
        const entry = this.#entries[this.#at] as StoredEntry;
        if (comparePositions(entry, position) >= 0) return entry;
      }
      if (this.#isEnd) return null;
      await this.#read({ at: position.at, run: "" });
    }
  }

  async #read(after: Position): Promise<void> {
    const last = this.#entries.at(-1);
    const from = last !== undefined && comparePositions(last, after) > 0 ? last : after;
    const page = await this.#reader.read(from, ROWS.perRead);
    this.rows += Math.max(1, page.rows);
    this.#entries = page.entries;
    this.#isEnd = page.entries.length < ROWS.perRead;
    this.#at = 0;
  }
}
