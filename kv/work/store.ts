/**
 * The store of the work queue: its rows by lane, and the absences of the loop of deadlines.
 *
 * @module
 */
import { decodeTime } from "@std/ulid";
import {
  type Absence,
  errorText,
  type KindRules,
  type Lane,
  LANES,
  type NotedTurn,
  retryAt,
  type Work,
  WORK_KINDS,
} from "../../domain/work/work.ts";
import { STORAGE_DEADLINE_MS } from "../../domain/core/limits.ts";
import { PENDING_LANES } from "../../domain/runs/stages.ts";
import { keyParts, keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { findEntry, getAll, getEntry, isAlive, listRows, type Store } from "../store.ts";
import type { KvSet } from "../writer/group.ts";

/** Maximum absences that are kept; the oldest are dropped. */
const ABSENCES_MAX = 20;

/** Longest time for which deadlines wait for calls to be summarized, milliseconds. */
const SUMMARY_WAIT_MS_MAX = 300_000;

/** The last turn of the loop of deadlines as stored. */
interface StoredClock {
  /** Time of the turn, unix milliseconds. */
  readonly at: number;
  /** True if rows waited then. */
  readonly waits: boolean;
  /** Latest absences, in order. */
  readonly absences: readonly Absence[];
}

/** The store of the work queue. */
export type WorkStore = ReturnType<typeof createWorkStore>;

/**
 * Creates the store.
 *
 * @param absenceMs milliseconds between two turns after which the time between them is an absence
 */
export function createWorkStore(store: Store, absenceMs: number) {
  const lanes = Object.fromEntries(
    LANES.map((lane) => [lane, new LaneRows(store, lane)]),
  ) as Record<Lane, LaneRows>;
  return {
    /** Returns rows of a lane due at `toMs`, each team's in order of time. */
    take: (lane: Lane, toMs: number) => lanes[lane].take(toMs),
    /** Returns the time of the next row of a lane, unix milliseconds; null if there is none. */
    nextMs: (lane: Lane) => lanes[lane].nextMs(),
    /** Returns the time before which all calls are summarized; see `WorkTime`. */
    summarizedToMs: (nowMs: number) => summarizedToMs(store, nowMs),
    /** Postpones rows whose work failed, as the schedule of their kind says. */
    postpone: (failed: readonly Work[], nowMs: number, error: unknown) =>
      postpone(store, failed, nowMs, error),
    /**
     * Notes a turn of the loop of deadlines. The time after a turn without waiting rows is no
     * absence, unless another process notes the next one: rows that it finds were filed and not
     * evaluated.
     *
     * @returns the latest absences, including one that ends with this turn
     */
    noteTurn: (nowMs: number, turn: NotedTurn) => noteTurn(store, nowMs, turn, absenceMs),
    /** Returns whether the store can read and write; if so, a failure was caused by the work. */
    isAlive: () => isAlive(store),
  };
}

/** A commit that is still in progress adds its mark within the deadline of storage. */
async function summarizedToMs(store: Store, nowMs: number): Promise<number> {
  const lanes = PENDING_LANES.map((lane) => ({ prefix: keys.pendingLane(lane) }));
  const oldest = await Promise.all(lanes.map((lane) => listRows(store, lane, { limit: 1 })));
  // The name of a mark begins with its time.
  const marksMs = oldest.flat().map(({ key }) => decodeTime(keyParts.id(key)));
  const settledMs = Math.min(nowMs, ...marksMs) - STORAGE_DEADLINE_MS;
  return Math.max(settledMs, nowMs - SUMMARY_WAIT_MS_MAX);
}

/** A row that was moved or removed meanwhile stays so. */
async function postpone(
  store: Store,
  rows: readonly Work[],
  nowMs: number,
  error: unknown,
): Promise<void> {
  const entries = await getAll(store, rows.map(workKey));
  await Promise.all(rows.map(async (row, i) => {
    const entry = entries[i];
    if (entry === undefined || entry.versionstamp === null) return;
    const { retry = "later" }: KindRules = WORK_KINDS[row.kind];
    const failed = { failures: row.failures + 1, error: errorText(error) };
    const at = retryAt(retry, failed.failures, nowMs);
    if (at === "dead") return;
    await store.writer.commit({
      team: row.team,
      checks: [entry],
      deletes: [entry.key],
      sets: [workSet({ ...row, at }, failed)],
    });
  }));
}

function noteTurn(
  store: Store,
  nowMs: number,
  { waits, isFirst }: NotedTurn,
  absenceMs: number,
): Promise<readonly Absence[]> {
  const key = keys.clock();
  return untilCommitted("note a turn of the work queue", async () => {
    const entry = await findEntry<StoredClock>(store, key);
    const last = entry?.value;
    const stored = last?.absences ?? [];
    if (last !== undefined && !waits && !last.waits) return stored;
    const known = upTo(nowMs, stored);
    const isAbsence = last !== undefined && waits && (last.waits || isFirst) &&
      nowMs - last.at > absenceMs;
    const absences = isAbsence
      ? [...known, { fromMs: last.at, untilMs: nowMs }].slice(-ABSENCES_MAX)
      : known;
    const checks = [{ key, versionstamp: entry?.versionstamp ?? null }];
    const value: StoredClock = { at: nowMs, waits, absences };
    return await store.writer.commit({ checks, sets: [{ key, value }] }) === null ? LOST : absences;
  });
}

/** Returns absences without the time to come: a system clock that was ahead was set back. */
function upTo(nowMs: number, absences: readonly Absence[]): readonly Absence[] {
  return absences.filter(({ fromMs }) => fromMs < nowMs)
    .map((absence) => ({ ...absence, untilMs: Math.min(absence.untilMs, nowMs) }));
}

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
