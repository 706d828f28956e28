/**
 * How much work waits for the worker, and since when.
 *
 * @module
 */
import { decodeTime } from "@std/ulid";
import { PENDING_LANES, type PendingLane } from "../../domain/runs/processing.ts";
import { decodePending } from "../writer/pending_mark.ts";
import { keys } from "../base/keys.ts";
import { eachRow, type Store } from "../store.ts";

/** Something that waits. */
export interface PendingWork {
  /** How much of it. */
  readonly count: number;
  /** Since when the oldest waits, or until when it will; unix milliseconds, null for none. */
  readonly oldestMs: number | null;
}

/** What waits for the worker. */
export interface Backlog {
  /** Runs to sum up, by lane; a run that changed several times counts as often. */
  readonly runs: Readonly<Record<PendingLane, PendingWork>>;
  /** Stages that wait; the oldest by when it is due. */
  readonly stages: PendingWork;
}

/** Where the name of a mark and the time of a due stage stand in their keys. */
const NAME = 2, DUE = 1;

/**
 * Counts what waits. It reads every mark, so it takes as long as there are many.
 *
 * @param rowsMax rows of each kind after which no more are counted; the oldest is always known
 */
export async function readBacklog(store: Store, rowsMax = Infinity): Promise<Backlog> {
  const pending: Partial<Record<PendingLane, PendingWork>> = {};
  for (const lane of PENDING_LANES) pending[lane] = await readLane(store, lane, rowsMax);
  const { closed = NOTHING, open = NOTHING } = pending;
  let stages = NOTHING;
  for await (const { key } of eachRow(store, { prefix: keys.dueStages() })) {
    stages = { count: stages.count + 1, oldestMs: stages.oldestMs ?? Number(key[DUE]) };
    if (stages.count >= rowsMax) break;
  }
  return { runs: { closed, open }, stages };
}

const NOTHING: PendingWork = { count: 0, oldestMs: null };

async function readLane(store: Store, lane: PendingLane, rowsMax: number): Promise<PendingWork> {
  let waiting = NOTHING;
  let rows = 0;
  for await (const { key, value } of eachRow(store, { prefix: keys.pendingLane(lane) })) {
    const count = waiting.count + decodePending(String(value)).length;
    // The names of marks begin with the time they were made.
    waiting = { count, oldestMs: waiting.oldestMs ?? decodeTime(String(key[NAME])) };
    if (++rows >= rowsMax) break;
  }
  return waiting;
}
