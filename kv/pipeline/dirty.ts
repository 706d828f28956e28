/**
 * The dirty set: which runs changed since the pipeline last looked at them.
 *
 * Each commit names the runs it changed in one row of its own, for all of its writes together, so a
 * mark costs a write next to nothing. A row is never written again, so whoever has looked at its runs
 * deletes it without losing a mark set meanwhile: that is in a later row.
 *
 * @module
 */
import type { DirtyLane, DirtyRows } from "../../domain/pipeline/pipeline.ts";
import { decodeDirty, parseDirtyName } from "../writer/dirty_mark.ts";
import { keys } from "../keys.ts";
import { eachRow, listRows, type Store } from "../store.ts";

/** Rows read at once: each has one to a hundred runs. */
const ROWS_PER_READ = 100;

/**
 * Reads the oldest rows of a lane, until they name so many runs.
 *
 * @param isKnown whether a run was looked at since it had this version, and need not be again
 */
export async function readDirty(
  store: Store,
  lane: DirtyLane,
  runsMax: number,
  isKnown: (name: string, version: string) => boolean = () => false,
): Promise<DirtyRows> {
  const rows: Deno.KvKey[] = [];
  const names = new Set<string>();
  const options = { limit: ROWS_PER_READ };
  const oldest = await listRows<string>(store, { prefix: keys.dirtyLane(lane) }, options);
  for (const { key, value, versionstamp } of oldest) {
    rows.push(key);
    for (const name of decodeDirty(value)) {
      // The row is of the very commit that changed the run.
      if (!isKnown(name, versionstamp)) names.add(name);
    }
    if (names.size >= runsMax) break;
  }
  return {
    rows: rows.length,
    runs: Array.from(names, parseDirtyName),
    async settle() {
      if (rows.length > 0) await store.writer.commit({ deletes: rows });
    },
  };
}

/**
 * Whether every mark set before a version is gone, so that indexes lack no run stored until then. Names
 * of marks would not tell: a clock that was set back sorts them elsewhere.
 */
export async function isSummedUp(store: Store, version: string): Promise<boolean> {
  for await (const { versionstamp } of eachRow(store, { prefix: keys.dirtyMarks() })) {
    if (versionstamp < version) return false;
  }
  return true;
}
