/** No commit is made or acknowledged when the files are no longer the ledger's. */
import { Memory } from "../../../runtime/memory.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { createReadiness, createStore } from "../../../kv/store.ts";
import { openStore } from "../../../kv/open.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { inFolder, TempStore } from "../../support/harness/temp_store.ts";

const ENTRY = { key: ["value"], value: 1 };
const REFUSED = { key: ["refused"], value: 1 };

/** Faults of a ledger's files, with their reversal where possible. */
const LOSSES: Record<string, (path: string) => Promise<(() => Promise<void>) | null>> = {
  "the file is deleted": async (path) => {
    await Deno.remove(path);
    return null;
  },
  "the log of commits is deleted": async (path) => {
    await Deno.remove(`${path}-wal`);
    return null;
  },
  "the lock is deleted": async (path) => {
    await Deno.remove(`${path}.lock`);
    return null;
  },
  "the file is replaced by a copy": async (path) => {
    await Deno.copyFile(path, `${path}.copy`);
    await Deno.rename(`${path}.copy`, path);
    return null;
  },
  "the file is moved": async (path) => {
    await Deno.rename(path, `${path}.away`);
    return () => Deno.rename(`${path}.away`, path);
  },
};

for (const [name, lose] of Object.entries(LOSSES)) {
  TempStore.test(`files: when ${name}, commits are refused and the store is not ready`, async ({ store, path }) => {
    const isReady = createReadiness(store, () => performance.now());
    assert(await store.writer.commit({ sets: [ENTRY] }) !== null);
    assert(await isReady());
    const undo = await lose(path);
    await assertRejects(
      () => store.writer.commit({ sets: [REFUSED] }),
      StorageUnavailable,
      "moved, deleted or replaced",
    );
    // Another process may have the file now, and counts on seeing each commit.
    assertEquals((await store.reader.get(REFUSED.key)).versionstamp, null);
    assertEquals(await isReady(), false);
    if (undo === null) return;
    await undo();
    assert(await store.writer.commit({ sets: [ENTRY] }) !== null);
    assert(await isReady());
  });
}

TempStore.test("files: a commit during which they are lost is not acknowledged", async (temp) => {
  let checks = 0;
  const inPlace = () => checks++ === 0;
  const { writer } = createStore({ ...temp.store, kv: temp.store.reader, inPlace });
  const commit = () => writer.commit({ sets: [ENTRY] });
  await assertRejects(commit, StorageUnavailable, "moved, deleted or replaced");
});

inFolder.test("files: a ledger may be a symbolic link, which may not be changed to another file", async (folder) => {
  const [link, first, second] = [`${folder}/link.kv`, `${folder}/1.kv`, `${folder}/2.kv`];
  await (await openStore(second, new Memory())).close();
  await Deno.writeTextFile(first, "");
  await Deno.symlink(first, link);
  const store = await openStore(link, new Memory());
  assert(await store.writer.commit({ sets: [ENTRY] }) !== null);
  await Deno.remove(link);
  await Deno.symlink(second, link);
  await assertRejects(() => store.writer.commit({ sets: [ENTRY] }), StorageUnavailable);
  await store.close();
});

TempStore.test("readiness: it follows the latest commit, and a failing one is tried again once a second", async (temp) => {
  let fault: Fault = "none";
  let commits = 0;
  const kv = faultKv(temp.store.reader, () => {
    commits++;
    return fault;
  });
  const store = createStore({ ...temp.store, kv });
  let nowMs = 0;
  const isReady = createReadiness(store, () => nowMs);
  assert(await store.writer.commit({ sets: [ENTRY] }) !== null);
  assertEquals([await isReady(), commits], [true, 1]);
  fault = "full";
  await assertRejects(() => store.writer.commit({ sets: [ENTRY] }), StorageUnavailable);
  for (nowMs = 0; nowMs < 3_000; nowMs += 100) assertEquals(await isReady(), false);
  assertEquals(commits, 2 + 3);
  fault = "none";
  assertEquals([await isReady(), await isReady(), commits], [true, true, 6]);
});
