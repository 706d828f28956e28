/**
 * Distinguishes a failing store from a failing job.
 *
 * @module
 */
import { keys } from "./base/keys.ts";
import { getMany, type Store } from "./store.ts";

/** A key that never exists: deleting it is a write without an effect. */
const NOTHING = keys.pending("open", "");

/** Returns whether the store reads and writes; if so, the job itself failed. */
export async function isAlive(store: Store): Promise<boolean> {
  try {
    await getMany(store, [keys.firstTeam()]);
    await store.writer.commit({ deletes: [NOTHING] });
    return true;
  } catch {
    return false;
  }
}
