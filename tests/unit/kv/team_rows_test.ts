/** Rows of a team under one version: read at most once, written through, never stale after a commit. */
import { assert, assertEquals } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { getValue, type Store } from "../../../kv/store.ts";
import {
  type RowFamily,
  storedRows,
  teamKey,
  TeamRowCache,
  type TeamRows,
  type TeamSet,
  teamSet,
} from "../../../kv/team/team_rows.ts";
import { SEED } from "../../support/harness/seed.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import fc from "fast-check";
import { replaced } from "../../support/fakes/replaced.ts";

const teamId = (n: number) => `team-${n}` as TeamId;

const TEAM = teamId(0);

/** Numbers stored as text, of which each takes the same memory. */
const NUMBERS: RowFamily<number> = {
  decode: (stored) => Number(stored),
  encode: (value) => `${value}`,
  bytesOf: () => 100,
};

const rowOf = (name: string, team: TeamId = TEAM) =>
  teamKey(NUMBERS, keys.agentActivity(team, name));

/** The same store, which counts the keys that are read. */
function counted(store: Store) {
  const counts = { keys: 0 };
  const getMany = (read: readonly Deno.KvKey[]) => {
    counts.keys += read.length;
    return store.reader.getMany(read);
  };
  return { counts, store: { ...store, reader: replaced(store.reader, { getMany }) } };
}

/** Commits changed rows as a team's commit does; false after a conflict. */
async function commit(
  { store, cache }: { readonly store: Store; readonly cache: TeamRowCache },
  rows: TeamRows,
  changed: readonly TeamSet[],
  others: Deno.KvKey[] = [],
  team = TEAM,
): Promise<boolean> {
  const key = keys.rollupVersion(team);
  const { sets, deletes } = storedRows(changed);
  const version = await store.writer.commit({
    team,
    checks: [{ key, versionstamp: rows.version }],
    sets: [{ key, value: rows.lastChange + 1 }, ...sets],
    deletes: [...deletes, ...others],
  });
  if (version === null) {
    cache.forget(team);
    return false;
  }
  rows.written(version, rows.lastChange + 1, changed, others);
  cache.keep(team, rows);
  return true;
}

TempStore.test("team rows: a row is read once, also one that is not stored, and a commit needs no read of it", async (temp) => {
  const { store, counts } = counted(temp.store);
  const cache = new TeamRowCache(store);
  const first = await cache.of(TEAM);
  assertEquals([first.version, first.lastChange, counts.keys], [null, 0, 1]);
  assertEquals(await first.getAll([rowOf("a"), rowOf("b")]), [null, null]);
  assertEquals(await first.getAll([rowOf("b"), rowOf("a")]), [null, null]);
  assertEquals(counts.keys, 3);
  assert(await commit({ store, cache }, first, [teamSet(rowOf("a"), 1), teamSet(rowOf("b"), 2)]));
  assert(await commit({ store, cache }, first, [teamSet(rowOf("a"), null)]));
  const rows = await cache.of(TEAM);
  assertEquals(await rows.getAll([rowOf("b"), rowOf("a")]), [2, null]);
  assertEquals([rows.lastChange, counts.keys], [2, 3]);
  assertEquals(await getValue(temp.store, rowOf("b").key), "2");
  const again = await new TeamRowCache(temp.store).of(TEAM);
  assertEquals([again.version, again.lastChange], [rows.version, 2]);
  assertEquals(await again.getAll([rowOf("a"), rowOf("b")]), [null, 2]);
});

TempStore.test("team rows: a row that a commit changed without its decoded value is read again", async (temp) => {
  const { store, counts } = counted(temp.store);
  const cache = new TeamRowCache(store);
  const rows = await cache.of(TEAM);
  await commit({ store, cache }, rows, [teamSet(rowOf("a"), 1), teamSet(rowOf("b"), 2)]);
  const [bytes, read] = [rows.bytes, counts.keys];
  await commit({ store, cache }, rows, [], [rowOf("a").key]);
  assert(rows.bytes < bytes);
  assertEquals(await rows.getAll([rowOf("a"), rowOf("b")]), [null, 2]);
  assertEquals(counts.keys, read + 1);
});

TempStore.test("team rows: after a conflict with another process all rows are read again", async ({ store }) => {
  const [ours, theirs] = [new TeamRowCache(store), new TeamRowCache(store)];
  const known = await ours.of(TEAM);
  assertEquals(await known.get(rowOf("a")), null);
  assert(await commit({ store, cache: theirs }, await theirs.of(TEAM), [teamSet(rowOf("a"), 7)]));
  assertEquals(
    await commit({ store, cache: ours }, known, [teamSet(rowOf("a"), 1)]),
    false,
  );
  assertEquals(await (await ours.of(TEAM)).get(rowOf("a")), 7);
});

TempStore.test("team rows: a team with too many rows begins a commit with those of that commit alone", async (temp) => {
  const { store, counts } = counted(temp.store);
  const cache = new TeamRowCache(store);
  const rows = await cache.of(TEAM);
  const max = temp.store.memory.bytesMax("team_rows") / 4;
  const names = Array.from({ length: 1 + Math.ceil(max / 2 / 200) }, (_, n) => `agent-${n}`);
  await rows.getAll(names.map((name) => rowOf(name)));
  assert(rows.bytes > max / 2 && rows.bytes < max, `${rows.bytes}`);
  assert(await commit({ store, cache }, rows, [teamSet(rowOf("last"), 5)]));
  const [{ bytes }, read] = [rows, counts.keys];
  assert(bytes < 1_000, `${bytes}`);
  assertEquals(await (await cache.of(TEAM)).getAll([rowOf("last"), rowOf("agent-0")]), [5, null]);
  assertEquals(counts.keys, read + 1);
});

TempStore.test("team rows: all teams together stay within their share", async ({ store }) => {
  const cache = new TeamRowCache(store);
  const names = Array.from({ length: 10_000 }, (_, n) => `agent-${n}`);
  for (let n = 0; n < 10; n++) {
    const team = teamId(n + 1);
    const rows = await cache.of(team);
    rows.written("00000000000000010000", 1, names.map((name) => teamSet(rowOf(name, team), n)));
    cache.keep(team, rows);
  }
  const use = store.memory.uses().find(({ share }) => share === "team_rows");
  assert(use !== undefined && use.bytes <= use.bytesMax && use.bytes > use.bytesMax / 2);
});

TempStore.test("team rows: in any order of changes by two processes, known rows equal the store after a commit", async ({ store }) => {
  const NAMES = ["a", "b", "c"];
  const step = fc.record({
    process: fc.nat(1),
    changes: fc.array(
      fc.record({ name: fc.constantFrom(...NAMES), by: fc.integer({ min: -2, max: 2 }) }),
      { maxLength: 3 },
    ),
  });
  let tests = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 15 }), async (steps) => {
      const team = teamId(++tests);
      const caches = [new TeamRowCache(store), new TeamRowCache(store)];
      const sums = new Map(NAMES.map((name) => [name, 0]));
      for (const { process, changes } of steps) {
        const cache = caches[process] as TeamRowCache;
        for (let isStored = false; !isStored;) {
          const rows = await cache.of(team);
          const after = new Map<string, number>();
          for (const { name, by } of changes) {
            const before = after.get(name) ?? await rows.get(rowOf(name, team)) ?? 0;
            after.set(name, before + by);
          }
          const sets = Array.from(
            after,
            ([name, sum]) => teamSet(rowOf(name, team), sum === 0 ? null : sum),
          );
          isStored = await commit({ store, cache }, rows, sets, [], team);
          if (!isStored) continue;
          const known = await rows.getAll(NAMES.map((name) => rowOf(name, team)));
          for (const { name, by } of changes) sums.set(name, (sums.get(name) ?? 0) + by);
          assertEquals(known.map((sum) => sum ?? 0), [...sums.values()]);
        }
      }
    }),
    { seed: SEED, numRuns: 100 },
  );
});
