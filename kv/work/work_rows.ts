/**
 * Rows of the work queue.
 *
 * @module
 */
import type { Lane, Work } from "../../domain/work/work.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getEntry, listRows, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";

/** Rows of the earliest times that are read, and rows after them in which other teams are found. */
const ROWS = { first: 500, ahead: 10_000 } as const;

/** Value of a row: a row that failed has the number of failures, and the last error. */
type StoredWork = 0 | { readonly failures: number; readonly error: string };

/** Returns the set that files a row. */
export function workSet(
  row: Omit<Work, "failures">,
  failed: Exclude<StoredWork, 0> | null = null,
): KvSet {
  const value: StoredWork = failed ?? 0;
  return { key: workKey(row), value };
}

/** Returns the work of a row. */
export function workOf({ key, value }: Deno.KvEntry<unknown>): Work {
  const stored = value as StoredWork;
  return { ...keyParts.work(key), ...stored === 0 ? { failures: 0 } : stored };
}

/** Returns the key of a row. */
export function workKey({ at, kind, team, name }: Omit<Work, "failures">): Deno.KvKey {
  return keys.workRow(at, kind, team, name);
}

/** Files a row at another time, or removes it; one that another process has moved stays. */
export async function moveWork(store: Store, row: Work, at: number | null): Promise<void> {
  const { team } = row;
  const entry = await getEntry(store, workKey(row));
  if (entry.versionstamp === null) return;
  const sets = at === null ? [] : [workSet({ ...row, at })];
  await store.writer.commit({ team, checks: [entry], deletes: [entry.key], sets });
}

/** Reads the rows of a lane. */
export class LaneRows {
  readonly #store: Store;
  readonly #lane: Lane;
  /** Row after which the next read finds other teams; null to begin after the earliest rows. */
  #ahead: Work | null = null;

  constructor(store: Store, lane: Lane) {
    this.#store = store;
    this.#lane = lane;
  }

  /** Returns the time of the next row, unix milliseconds; null if there is none. */
  async nextMs(): Promise<number | null> {
    const [row] = await this.#read({ prefix: keys.work(this.#lane) }, 1);
    return row === undefined ? null : row.at;
  }

  /** Takes rows that are due at `toMs`: the earliest ones, and rows after them in turn. */
  async take(toMs: number): Promise<readonly Work[]> {
    const { start, end } = keys.workTo(this.#lane, toMs);
    const first = await this.#read({ start, end }, ROWS.first);
    const last = first.at(-1);
    if (last === undefined || first.length < ROWS.first) return first;
    const after = this.#ahead !== null && this.#ahead.at > last.at ? this.#ahead : last;
    const ahead = await this.#read({ start: [...workKey(after), true], end }, ROWS.ahead);
    this.#ahead = ahead.length < ROWS.ahead ? null : ahead.at(-1) ?? null;
    return [...first, ...ahead];
  }

  async #read(range: Deno.KvListSelector, limit: number): Promise<Work[]> {
    const rows = await listRows(this.#store, range, { limit });
    return rows.map(workOf);
  }
}
