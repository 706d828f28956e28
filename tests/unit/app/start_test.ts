/** Opening the ledger of a process: the bell of its worker. */
import { assert, assertEquals } from "@std/assert";
import { parseConfig } from "../../../app/config.ts";
import { openLedger } from "../../../app/start.ts";
import { Memory } from "../../../runtime/memory.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

inFolder.test("R42: a ledger in a file has a bell, but not where the runtime changes names of databases", async (folder) => {
  const parsed = parseConfig({ RUNLEDGER_KV: `${folder}/test.kv` }, []);
  assert(parsed.ok);
  const hasBell = async () => {
    const store = await openLedger(parsed.config, new Memory());
    await store.close();
    return store.workerSignal.bell !== null;
  };
  assertEquals(await hasBell(), true);
  // An absolute path stays the same file.
  Deno.env.set("DENO_KV_PATH_PREFIX", "/");
  try {
    assertEquals(await hasBell(), false);
  } finally {
    Deno.env.delete("DENO_KV_PATH_PREFIX");
  }
});
