/** Reads of requests: counted, bounded, fair, and ended by deadline and disconnect. */
import { Memory } from "../../../runtime/memory.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../../domain/core/errors.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import { openStore } from "../../../kv/open.ts";
import { outsideScope, Reads, readScopes } from "../../../kv/base/reads.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { getMany, listRows } from "../../../kv/store.ts";
import { storeOver } from "../../support/harness/stores.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const NEVER = new AbortController().signal;
const LIMITS = { all: 1, team: 1, waiting: 10, teamWaiting: 10 };

Deno.test("reads: rows and bytes are counted for their request", async () => {
  await using store = await memory();
  const scope = new ReadScope(NEVER);
  await readScopes.run(scope, () =>
    store.reads.run("t", async () => {
      await getMany(store, [["x", 1], ["x", 2]]);
      await listRows(store, { prefix: ["x"] });
      await outsideScope(() => listRows(store, { prefix: ["x"] }));
    }));
  assertEquals([scope.rows, scope.bytes], [2 + 1_200, (1 + 1_200) * 10]);
});

Deno.test("reads: the next read of a disconnected request throws", async () => {
  await using store = await memory();
  const disconnect = new AbortController();
  let reads = 0;
  const work = readScopes.run(
    new ReadScope(disconnect.signal),
    () =>
      store.reads.run("t", async () => {
        for (;;) {
          await getMany(store, [["x", 1]]);
          if (++reads === 5) disconnect.abort(new Error("gone"));
        }
      }),
  );
  await assertRejects(() => work, Error, "gone");
  // A slot is free once the work has ended, so this read follows it.
  await store.reads.run("t", () => Promise.resolve());
  assertEquals(reads, 5);
});

Deno.test("reads: a list of any length can be aborted between two reads of the runtime", async () => {
  await using store = await memory();
  const disconnect = new AbortController();
  const work = readScopes.run(
    new ReadScope(disconnect.signal),
    () => store.reads.run("t", () => listRows(store, { prefix: ["x"] })),
  );
  disconnect.abort(new Error("gone"));
  await assertRejects(() => work, Error, "gone");
});

Deno.test("reads: the deadline ends the work, and only then is its slot free", async () => {
  using deadlines = new Deadlines(20, TIMERS);
  const reads = new Reads(deadlines, LIMITS);
  const work = Promise.withResolvers<void>();
  await assertRejects(() => reads.run("a", () => work.promise), StorageUnavailable);
  const waiting = reads.run("b", () => Promise.resolve("never"));
  await assertRejects(() => waiting, Overloaded);
  work.resolve();
  assertEquals(await reads.run("b", () => Promise.resolve("now")), "now");
});

Deno.test("reads: a nested read needs no further slot", async () => {
  using deadlines = new Deadlines(30_000, TIMERS);
  const reads = new Reads(deadlines, LIMITS);
  assertEquals(await reads.run("a", () => reads.run("a", () => Promise.resolve(1))), 1);
});

async function memory() {
  const store = await openStore(":memory:", new Memory());
  for (let at = 0; at < 1_201; at += 100) {
    const sets = Array.from({ length: Math.min(100, 1_201 - at) }, (_, i) => ({
      key: ["x", at + i],
      value: new Uint8Array(10),
    }));
    await store.writer.commit({ sets: sets.filter(({ key }) => key[1] !== 2) });
  }
  assert((await listRows(store, { prefix: ["x"] })).length === 1_200);
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

TempStore.test("reads: more run at once on a shared KV, whose reads wait for round trips", async (temp) => {
  using deadlines = new Deadlines(10_000, TIMERS);
  const { reader } = temp.store;
  for (const [limits, expected] of [[BACK_ENDS.embedded, 2], [BACK_ENDS.remote, 8]] as const) {
    const { reads } = storeOver(reader, reader, limits, deadlines);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    let running = 0;
    const work = Array.from({ length: 20 }, () =>
      reads.run("t", async () => {
        running++;
        await end;
      }));
    await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(running, expected);
    resolve();
    await Promise.all(work);
  }
});
