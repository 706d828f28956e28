/**
 * Row of the lease that one instance of a shared store holds.
 *
 * All instances read it, and the format of the ledger with it: a newer version may have changed the
 * format while this one runs.
 *
 * @module
 */
import { keys, newRowName, OWN_FORMAT } from "./base/keys.ts";
import { otherFormat, type StoreRefused } from "./refused.ts";
import { getMany, type Store } from "./store.ts";

/** Called when the format has changed under a running instance. */
const ADVICE = "this instance ends; start the version that wrote it";

/** Changes the lease on background work. Each renewal has a version of its own; null is a free lease. */
export type LeaseStore = ReturnType<typeof createLeaseStore>;

/**
 * Creates the lease's store.
 *
 * @param onOtherFormat is called when the ledger has a format that this version cannot read
 */
export function createLeaseStore(store: Store, onOtherFormat: (error: StoreRefused) => void) {
  const key = keys.lease();
  // A lease of this name belongs to this instance, even if the answer of its commit was lost.
  const name = newRowName();
  const checked = (versionstamp: string | null) => [{ key, versionstamp }];

  async function read() {
    const [lease, format] = await getMany(store, [key, keys.format()]);
    const refused = otherFormat("The ledger", format?.value ?? OWN_FORMAT, ADVICE);
    if (refused !== null) onOtherFormat(refused);
    return { version: lease?.versionstamp ?? null, isOwn: lease?.value === name };
  }

  return {
    /** Returns the version of another instance's lease; null if this instance may take the lease. */
    async version() {
      const { version, isOwn } = await read();
      return isOwn ? null : version;
    },
    /**
     * Renews or takes the lease of a version; returns the new version, or null if another instance
     * has changed it.
     */
    async take(free: string | null) {
      // The holder reads nothing else.
      const { version, isOwn } = await read();
      if (!isOwn && version !== free) return null;
      return await store.writer.commit({ checks: checked(version), sets: [{ key, value: name }] });
    },
    /** Frees the lease of a version, if it is still current. */
    release: async (version: string) => {
      await store.writer.commit({ checks: checked(version), deletes: [key] });
    },
  };
}
