/**
 * Row of the lease that one instance of a shared store holds.
 *
 * All instances read it, and the format of the ledger with it: a newer version may have changed the
 * format while this one runs.
 *
 * @module
 */
import type { LeaseStore } from "../domain/core/jobs.ts";
import { keys, OWN_FORMAT } from "./base/keys.ts";
import { newRowName } from "./base/names.ts";
import { otherFormat, type StoreRefused } from "./refused.ts";
import { getMany, type Store } from "./store.ts";

/** What to do when the format has changed under a running instance. */
const ADVICE = "this instance ends; start the version that wrote it";

/**
 * Creates the lease's store.
 *
 * @param onOtherFormat is called when the ledger has a format that this version cannot read
 */
export function createLeaseStore(
  store: Store,
  onOtherFormat: (error: StoreRefused) => void,
): LeaseStore {
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
    async version() {
      const { version, isOwn } = await read();
      return isOwn ? null : version;
    },
    async take(held) {
      // The holder reads nothing else.
      const { version, isOwn } = await read();
      if (!isOwn && version !== held) return null;
      return await store.writer.commit({ checks: checked(version), sets: [{ key, value: name }] });
    },
    release: async (held) => {
      await store.writer.commit({ checks: checked(held), deletes: [key] });
    },
  };
}
