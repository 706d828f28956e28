/**
 * Telling a store that fails altogether from work that fails by itself.
 *
 * @module
 */
import { keys } from "./base/keys.ts";
import { getMany, type Store } from "./store.ts";

/** A key that never holds anything: deleting it writes, and changes nothing. */
const NOTHING = keys.pending("open", "");

/** Returns whether the store reads and writes; then it is the work itself that failed. */
export async function isAlive(store: Store): Promise<boolean> {
  try {
    await getMany(store, [keys.firstTeam()]);
    await store.writer.commit({ deletes: [NOTHING] });
    return true;
  } catch {
    return false;
  }
}
