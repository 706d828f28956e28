/**
 * Measures the worker's backlog.
 *
 * @module
 */
import { decodeTime } from "@std/ulid";
import type { PendingLane } from "../../domain/runs/stages.ts";
import { decodePending } from "../writer/group.ts";
import { keyParts, keys } from "../base/keys.ts";
import { eachRow, type Store } from "../store.ts";

/** Pending work of one type. */
export interface PendingWork {
  readonly count: number;
  /** Start of the oldest run's wait, or due time of the first stage; unix milliseconds or null. */
  readonly oldestMs: number | null;
}

/** Pending work of the worker. */
export interface Backlog {
  /** Runs to aggregate, by lane; a run that changed several times counts each time. */
  readonly runs: Readonly<Record<PendingLane, PendingWork>>;
  /** Waiting stages; the oldest by due time. */
  readonly stages: PendingWork;
}

/**
 * Counts pending work. It reads every mark, so the time is proportional to their number.
 *
 * @param rowsMax maximum rows counted per type; the oldest is always included
 */
export async function readBacklog(store: Store, rowsMax = Infinity): Promise<Backlog> {
  const countLane = (lane: PendingLane) =>
    countWork(
      keys.pendingLane(lane),
      ({ value }) => decodePending(String(value)).length, // Names of marks begin with their creation time.
      ({ key }) => decodeTime(keyParts.id(key)),
    );
  const countWork = async (
    prefix: Deno.KvKey,
    countOf: (row: Deno.KvEntry<unknown>) => number,
    timeOf: (row: Deno.KvEntry<unknown>) => number,
  ): Promise<PendingWork> => {
    let [count, rows] = [0, 0];
    let oldestMs: number | null = null;
    for await (const row of eachRow(store, { prefix })) {
      count += countOf(row);
      oldestMs ??= timeOf(row);
      if (++rows >= rowsMax) break;
    }
    return { count, oldestMs };
  };
  return {
    runs: { closed: await countLane("closed"), open: await countLane("open") },
    stages: await countWork(keys.work("run"), () => 1, ({ key }) => keyParts.work(key).at),
  };
}
