/** Reads of many runs in few round trips; reads of requests, which are counted, bounded and fair. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { groupsOf, outsideScope, Reads, readScopes } from "../../../kv/base/reads.ts";
import { keys } from "../../../kv/base/keys.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import { getAll, getMany, listRows } from "../../../kv/store.ts";
import { TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { Memory } from "../../../runtime/memory.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../../domain/core/errors.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import { openStore } from "../../../kv/open.ts";
import { storeOver } from "../../support/harness/stores.ts";
import { replaced } from "../../support/fakes/replaced.ts";

/** Counts reads, and how many of them run at once. */
function counted(reader: Deno.Kv) {
  const counts = { reads: 0, rows: 0, atOnce: 0, most: 0 };
  const kv = replaced(reader, {
    list: async function* (...args: Parameters<Deno.Kv["list"]>) {
      counts.reads++;
      counts.most = Math.max(counts.most, ++counts.atOnce);
      await new Promise((resolve) => setTimeout(resolve, 0));
      try {
        for await (const row of reader.list(...args)) {
          counts.rows++;
          yield row;
        }
      } finally {
        counts.atOnce--;
      }
    },
  });
  return { kv, counts };
}

/** Stores rows of runs, and reads some of the runs in random order. */
async function read(stored: readonly string[], wanted: readonly string[]) {
  await using temp = await TempStore.open();
  const idOf = (hex: string) => `run_eu_${hex}` as RunId;
  for (const group of groupsOf(stored, 100)) {
    const value = { price: null, times: 1 };
    const sets = group.map((hex) => ({ key: keys.price(TEAM.id, idOf(hex)), value }));
    await temp.store.writer.commit({ sets });
  }
  const { kv, counts } = counted(temp.store.reader);
  const ids = wanted.toSorted(() => Math.random() - 0.5).map(idOf);
  const heads = await readHeads({ store: { ...temp.store, reader: kv }, team: TEAM.id }, ids);
  assertEquals(heads.map(({ id }) => id), ids);
  for (const { id, head } of heads) assert(head.repricings === 1, `${id} was not read`);
  return counts;
}

function hex(prefix: string, n: number): string {
  return `${prefix}${n.toString(16).padStart(32 - prefix.length, "0")}`;
}

function range(length: number, hexOf: (n: number) => string): string[] {
  return Array.from({ length }, (_, n) => hexOf(n));
}

Deno.test("head reads: runs of one minute are read together", async () => {
  const ids = range(50, (n) => hex("019a1b2c", n));
  const { reads } = await read(ids, ids);
  assertEquals(reads, 1);
});

Deno.test("head reads: runs that are far apart are read at once", async () => {
  const ids = range(60, (n) => hex((n * 4_099).toString(16).padStart(8, "f"), n));
  const { reads, most } = await read(ids, ids);
  assertEquals([reads, most], [60, 60]);
});

Deno.test("head reads: a few of the runs of a minute take two round trips, with few other rows", async () => {
  const ids = range(900, (n) => hex("019a1b2c", n));
  const wanted = ids.filter((_, n) => n % 90 === 0);
  const { reads, rows, most } = await read(ids, wanted);
  // The first read shows that most rows are of other runs.
  assertEquals([reads, most], [9, 8]);
  assert(rows < 120, `${rows} rows`);
});

TempStore.test("reads by keys: from a shared KV, 300 keys take one round trip; from a file, six", async (temp) => {
  const all = range(300, (n) => hex("", n)).map((name) => ["nothing", name]);
  for (const [backEnd, expected] of [["embedded", 5], ["remote", 30]] as const) {
    let [atOnce, most] = [0, 0];
    const reader = replaced(temp.store.reader, {
      getMany: async (keys: Deno.KvKey[]) => {
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => setTimeout(resolve, 0));
        return await temp.store.reader.getMany(keys).finally(() => atOnce--);
      },
    });
    const rows = await getAll({ ...temp.store, reader, limits: BACK_ENDS[backEnd] }, all);
    assertEquals(rows.map(({ key }) => key), all);
    assertEquals(most, expected);
  }
});

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
