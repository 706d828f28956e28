/**
 * Row of the lease that one instance of a shared store holds.
 *
 * @module
 */
import type { LeaseStore } from "../domain/core/jobs.ts";
import { keys } from "./base/keys.ts";
import { getEntry, type Store } from "./store.ts";

/** Creates the lease's store. */
export function createLeaseStore(store: Store): LeaseStore {
  const key = keys.lease();
  const checked = (versionstamp: string | null) => [{ key, versionstamp }];
  return {
    version: async () => (await getEntry(store, key)).versionstamp,
    take: (version) =>
      store.writer.commit({ checks: checked(version), sets: [{ key, value: true }] }),
    release: async (version) => {
      await store.writer.commit({ checks: checked(version), deletes: [key] });
    },
  };
}
