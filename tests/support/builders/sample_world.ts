/** A service with the sample runs of `deno task dev --demo`, at the tests' noon. */
import { Memory } from "../../../runtime/memory.ts";
import { sealKeysOf } from "../../../kv/channels/seal.ts";
import { parseLocation } from "../../../kv/location.ts";
import { openStore } from "../../../kv/open.ts";
import { loadSamples } from "../../../tools/demo/load.ts";
import { Harness, NOON } from "../harness/harness.ts";

export async function openSampleWorld(): Promise<Harness> {
  const h = await Harness.open();
  await h.restart(async () => void await loadInto(h));
  return h;
}

/** Loads the samples into the ledger of a stopped service; returns the number of runs. */
export async function loadInto({ path, key }: Harness, nowMs = NOON): Promise<number> {
  const store = await openStore(path, new Memory());
  try {
    const sealKeys = sealKeysOf(parseLocation(path), null);
    return await loadSamples({ store, sealKeys, region: "eu", key, nowMs });
  } finally {
    await store.close();
  }
}
