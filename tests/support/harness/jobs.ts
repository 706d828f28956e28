/** Jobs of teams without a work loop: a test takes their steps one by one. */
import { type Work, WORK_KINDS, type WorkHandler } from "../../../domain/work/work.ts";
import type { Store } from "../../../kv/store.ts";
import { createWorkStore } from "../../../kv/work/store.ts";

/** Dependencies of jobs that take one step a turn, over runs that the test projects. */
export const ONE_STEP = { untilProjected: () => Promise.resolve(), turnMs: 0 } as const;

/** Handles the first due row of a kind, as the work loop does; returns null if none is due. */
export async function workOnce(
  store: Store,
  handler: WorkHandler,
  nowMs: number,
): Promise<Work | null> {
  const rows = await createWorkStore(store, Infinity).take(WORK_KINDS[handler.kind].lane, nowMs);
  const row = rows.find(({ kind }) => kind === handler.kind);
  if (row === undefined) return null;
  const time = { nowMs, absences: [], summarizedToMs: nowMs };
  await handler.handle([row], time, new AbortController().signal);
  return row;
}
