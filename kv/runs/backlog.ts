/**
 * Measures the worker's backlog.
 *
 * @module
 */
import { decodeTime } from "@std/ulid";
import { PENDING_LANES, type PendingLane } from "../../domain/runs/processing.ts";
import { decodePending } from "../writer/pending_mark.ts";
import { keys } from "../base/keys.ts";
import { eachRow, type Store } from "../store.ts";

/** Pending work of one type. */
export interface PendingWork {
  readonly count: number;
  /** Since when the oldest run waits, or when the first stage is due; unix milliseconds or null. */
  readonly oldestMs: number | null;
}

/** Pending work of the worker. */
export interface Backlog {
  /** Runs to aggregate, by lane; a run that changed several times counts each time. */
  readonly runs: Readonly<Record<PendingLane, PendingWork>>;
  /** Waiting stages; the oldest by due time. */
  readonly stages: PendingWork;
}

/** Positions of a mark's name and of a due stage's time in their keys. */
const NAME = 2, DUE = 1;

/**
 * Counts pending work. It reads every mark, so the time is proportional to their number.
 *
 * @param rowsMax maximum rows counted per type; the oldest is always included
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
  let work = NOTHING;
  let rows = 0;
  for await (const { key, value } of eachRow(store, { prefix: keys.pendingLane(lane) })) {
    const count = work.count + decodePending(String(value)).length;
    // Names of marks begin with their creation time.
    work = { count, oldestMs: work.oldestMs ?? decodeTime(String(key[NAME])) };
    if (++rows >= rowsMax) break;
  }
  return work;
}
