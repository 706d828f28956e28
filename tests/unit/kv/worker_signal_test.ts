/** Worker signal: commits with marks wake the worker of their process, and no message is stored. */
import { Memory } from "../../../domain/core/memory.ts";
import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../kv/open.ts";
import { finish, runsOf } from "../../support/builders/stored_runs.ts";
import { TempStore, withFolder } from "../../support/harness/temp_store.ts";

Deno.test("worker signal: a commit that changes a run wakes this process's worker immediately", async () => {
  await using temp = await TempStore.open();
  let wakes = 0;
  temp.store.workerSignal.listen(() => wakes++);
  await finish(runsOf(temp.store), 1);
  assertEquals([wakes, temp.store.workerSignal.raised], [1, 1]);
});

Deno.test("worker signal: writes that change no run send no signal", async () => {
  await using temp = await TempStore.open();
  let wakes = 0;
  temp.store.workerSignal.listen(() => wakes++);
  await temp.store.writer.commit({ sets: [{ key: ["item"], value: 1 }] });
  assertEquals(wakes, 0);
});

Deno.test("worker signal: a write that lost its check sends no signal", async () => {
  await using temp = await TempStore.open();
  let wakes = 0;
  temp.store.workerSignal.listen(() => wakes++);
  const lost = await temp.store.writer.commit({
    checks: [{ key: ["item"], versionstamp: "00000000000000000001" }],
    sets: [{ key: ["item"], value: 1 }],
    pending: [{ lane: "open", name: "team run1" }],
  });
  assertEquals([lost, wakes], [null, 0]);
});

Deno.test("worker signal: the runtime's queue, which ends the process on a full disk, is never used", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/test.kv`;
    const store = await openStore(path, new Memory());
    for (let n = 0; n < 5; n++) await finish(runsOf(store), n);
    await store.close();
    using database = new DatabaseSync(path, { readOnly: true });
    const count = database.prepare("SELECT count(*) AS messages FROM queue").get();
    assertEquals(count?.messages, 0);
  });
});
