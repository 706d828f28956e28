/** Reads of many runs: few reads for neighbors, and one round trip for runs that are far apart. */
import { assert, assertEquals } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { groupsOf } from "../../../kv/base/reads.ts";
import { keys } from "../../../kv/base/keys.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import { getAll } from "../../../kv/store.ts";
import { TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** Counts reads, and how many of them run at once. */
function counted(reader: Deno.Kv) {
  const counts = { reads: 0, rows: 0, atOnce: 0, most: 0 };
  const kv = new Proxy(reader, {
    get(target, name) {
      if (name !== "list") return Reflect.get(target, name).bind(target);
      return async function* (...args: Parameters<Deno.Kv["list"]>) {
        counts.reads++;
        counts.most = Math.max(counts.most, ++counts.atOnce);
        await new Promise((resolve) => setTimeout(resolve, 0));
        try {
          for await (const row of target.list(...args)) {
            counts.rows++;
            yield row;
          }
        } finally {
          counts.atOnce--;
        }
      };
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
    const reader = new Proxy(temp.store.reader, {
      get(target, name) {
        if (name !== "getMany") return Reflect.get(target, name).bind(target);
        return async (keys: Deno.KvKey[]) => {
          most = Math.max(most, ++atOnce);
          await new Promise((resolve) => setTimeout(resolve, 0));
          return await target.getMany(keys).finally(() => atOnce--);
        };
      },
    });
    const rows = await getAll({ ...temp.store, reader, limits: BACK_ENDS[backEnd] }, all);
    assertEquals(rows.map(({ key }) => key), all);
    assertEquals(most, expected);
  }
});
