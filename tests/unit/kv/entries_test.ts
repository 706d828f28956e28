/** Entries of an order: packed, read and removed, against a sorted list in memory. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import {
  addEntries,
  ALL_ENTRIES,
  BLOCK_SPAN,
  comparePositions,
  ENTRIES_PER_COMMIT_MAX,
  type EntryRange,
  EntryReader,
  type EntryToAdd,
  isBlock,
  type Position,
  readEntries,
  removeEntries,
  spanEnd,
  unpackBlock,
} from "../../../kv/index/entries.ts";
import { keys } from "../../../kv/base/keys.ts";
import { readScopes } from "../../../kv/base/reads.ts";
import type { Store } from "../../../kv/store.ts";
import { SEED } from "../../support/harness/seed.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

import fc from "fast-check";
import { cpuMs } from "../../support/oracles/durations.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const ORDER = ["some", "order"];
const OTHER = ["some", "other"];

/** Positions around the ends of spans, some of them often. */
const anyAt = fc.oneof(
  fc.integer({ min: -2 * BLOCK_SPAN, max: 2 * BLOCK_SPAN }),
  fc.constantFrom(-BLOCK_SPAN - 1, -BLOCK_SPAN, -1, 0, BLOCK_SPAN - 1, BLOCK_SPAN),
  fc.constant(1_795_262_400_000),
);
const anyRun = fc.tuple(fc.constantFrom("eu", "us"), fc.nat(0xff)).map(([region, n]) =>
  `run_${region}_${n.toString(16).padStart(32, "0")}` as RunId
);
const anyValue = fc.oneof(
  fc.constant(true),
  fc.uint8Array({ minLength: 1, maxLength: 9 }),
  fc.integer({ min: 1 }),
);
const anyEntry = fc.record({
  order: fc.constant<Deno.KvKey>(ORDER),
  at: anyAt,
  run: anyRun,
  value: anyValue as fc.Arbitrary<unknown>,
  mayShare: fc.constantFrom(true, true, true, false),
});
/** Entries of several commits; each position is added once. */
const anyCommits = fc.uniqueArray(anyEntry, { selector: nameOf, maxLength: 120 })
  .chain((entries) =>
    fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }).map((sizes) => {
      const commits: EntryToAdd[][] = [];
      for (let at = 0; at < entries.length;) {
        const size = sizes[commits.length % sizes.length] ?? 1;
        commits.push(entries.slice(at, at += size));
      }
      return commits;
    })
  );
const anyBound = fc.option(fc.record({ at: anyAt, run: fc.oneof(anyRun, fc.constant("")) }));
const anyRead = fc.record({
  after: anyBound,
  before: anyBound,
  limit: fc.integer({ min: 1, max: 150 }),
  reverse: fc.boolean(),
});

function nameOf({ at, run }: Position): string {
  return `${at} ${run}`;
}

/** Stores entries as one commit does; returns the runs in blocks. */
async function add(
  store: Store,
  entries: readonly EntryToAdd[],
  number: number | null,
): Promise<ReadonlySet<RunId>> {
  const { sets, shared } = addEntries(entries, number, new Set(entries.map(({ run }) => run)));
  await store.writer.commit({ sets });
  return shared;
}

/** Stores all commits, and an entry of each in another order. */
async function addAll(store: Store, commits: readonly EntryToAdd[][]): Promise<void> {
  for (const [i, entries] of commits.entries()) {
    await add(store, [...entries, ...entries.map((entry) => ({ ...entry, order: OTHER }))], i + 1);
  }
}

/** Returns the entries of a range in reading order. */
function within(
  entries: readonly EntryToAdd[],
  { after, before }: EntryRange,
  reverse: boolean,
): EntryToAdd[] {
  const sorted = entries.toSorted(comparePositions).filter((entry) =>
    (after === null || comparePositions(entry, after) > 0) &&
    (before === null || comparePositions(entry, before) < 0)
  );
  return reverse ? sorted.reverse() : sorted;
}

function plain(entries: readonly { at: number; run: RunId; value: unknown }[]) {
  return entries.map(({ at, run, value }) => ({ at, run, value }));
}

async function rowsOf({ reader }: Store): Promise<Deno.KvEntry<unknown>[]> {
  const all = [keys.blocks(ORDER), ORDER].map((prefix) => Array.fromAsync(reader.list({ prefix })));
  return (await Promise.all(all)).flat();
}

Deno.test("entries: any range is read in order, whichever rows hold its entries", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyCommits,
      fc.array(anyRead, { minLength: 12, maxLength: 12 }),
      async (commits, reads) => {
        await using temp = await TempStore.open();
        await addAll(temp.store, commits);
        const entries = commits.flat();
        for (const { limit, reverse, ...range } of reads) {
          const page = await readEntries(temp.store, ORDER, range, { limit, reverse });
          const expected = within(entries, range, reverse);
          assertEquals(plain(page.entries), plain(expected.slice(0, limit)));
          // A reader that continues reads the same, also when it skips entries.
          const [from, end] = reverse ? [range.before, range.after] : [range.after, range.before];
          const reader = new EntryReader(temp.store, ORDER, { end, reverse });
          let position: Position | null = from;
          for (let at = 0, step = 1;; step++) {
            const next = await reader.read(position, limit);
            assertEquals(plain(next.entries), plain(expected.slice(at, at + limit)));
            if (next.entries.length < limit) break;
            at += step % 3 === 0 ? limit * 3 : Math.ceil(limit / step);
            position = expected[at - 1] ?? null;
            if (position === null) break;
          }
        }
      },
    ),
    { seed: SEED, numRuns: 100 },
  );
});

Deno.test("entries: at least two entries of a span share a row, in one commit and with its number", () => {
  const entry = (at: number, more: Partial<EntryToAdd> = {}): EntryToAdd => ({
    order: ORDER,
    at,
    run: `run_eu_${at.toString(16).padStart(32, "0")}` as RunId,
    value: true,
    mayShare: true,
    ...more,
  });
  const all = [
    entry(0),
    entry(BLOCK_SPAN - 1, { value: Uint8Array.of(7) }),
    entry(BLOCK_SPAN),
    entry(2 * BLOCK_SPAN, { mayShare: false }),
    entry(2 * BLOCK_SPAN + 1, { mayShare: false }),
    entry(3 * BLOCK_SPAN, { value: 5 }),
    entry(3 * BLOCK_SPAN + 1, { value: new Uint8Array() }),
    entry(3 * BLOCK_SPAN + 2, { value: new Uint8Array(256) }),
    entry(3 * BLOCK_SPAN + 3, { order: OTHER }),
    entry(3 * BLOCK_SPAN + 4),
  ];
  const runs = new Set(all.map(({ run }) => run));
  const { sets, shared } = addEntries(all, 7, runs);
  const blocks = sets.filter(({ key }) => isBlock(key));
  assertEquals(blocks.map(({ key }) => key), [keys.block(ORDER, spanEnd(0), 7)]);
  const [block] = blocks;
  assertEquals(
    plain(unpackBlock(block!)),
    plain(all.slice(0, 2)),
  );
  assertEquals([...shared], all.slice(0, 2).map(({ run }) => run));
  const own = sets.filter(({ key }) => !isBlock(key));
  assertEquals(
    own.toSorted((a, b) => Number(a.key[2]) - Number(b.key[2])),
    all.slice(2).map(({ order, at, run, value }) => ({ key: keys.entry(order, at, run), value })),
  );
  // Without a number, or for other runs, no entry shares a row.
  for (const [number, sharing] of [[null, runs], [7, new Set<RunId>()]] as const) {
    const alone = addEntries(all, number, sharing);
    assertEquals([alone.sets.length, alone.shared.size], [all.length, 0]);
  }
  const many = Array.from({ length: ENTRIES_PER_COMMIT_MAX + 1 }, (_, n) => entry(n));
  const pack = (added: readonly EntryToAdd[]) =>
    addEntries(added, 7, new Set(added.map(({ run }) => run)));
  assertEquals(pack(many.slice(1)).sets.length, 1);
  assertThrows(() => pack(many), RangeError);
});

Deno.test("entries: removed entries are in no row any more, and no others", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyCommits,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 40 })), { minLength: 1 }),
      async (commits, removals) => {
        await using temp = await TempStore.open();
        const { store } = temp;
        await addAll(store, commits);
        let left = within(commits.flat(), ALL_ENTRIES, false);
        for (const [seed, count] of [...removals, [0, Infinity] as const]) {
          const { entries } = await readEntries(store, ORDER, ALL_ENTRIES, { limit: 500 });
          const chosen = entries.filter((_, i) => (i * 7 + seed) % 3 > 0 || count === Infinity)
            .slice(0, count);
          // Numbers of other blocks, and entries that are not stored, change nothing.
          const more = chosen.map((entry) => ({ ...entry, blocks: [...entry.blocks, 99] }));
          const absent = { order: ORDER, at: 9 * BLOCK_SPAN, run: more[0]?.run ?? "run" as RunId };
          const { sets, deletes } = await removeEntries(store, [
            ...more,
            { ...absent, blocks: [] },
            { ...absent, at: left[0]?.at ?? 0, run: "run_eu_ff" as RunId, blocks: [1, 2, 3] },
          ]);
          await store.writer.commit({ sets, deletes });
          const names = new Set(chosen.map(nameOf));
          left = left.filter((entry) => !names.has(nameOf(entry)));
          const now = await readEntries(store, ORDER, ALL_ENTRIES, { limit: 500 });
          assertEquals(plain(now.entries), plain(left));
        }
        assertEquals(await rowsOf(store), []);
        const other = await readEntries(store, OTHER, ALL_ENTRIES, { limit: 500 });
        assertEquals(other.entries.length, commits.flat().length);
      },
    ),
    { seed: SEED, numRuns: 40 },
  );
});

/** Entries of consecutive runs, one a millisecond. */
function entriesFrom(at: number, count: number): EntryToAdd[] {
  return Array.from({ length: count }, (_, i) => ({
    order: ORDER,
    at: at + i,
    run: `run_eu_${(at + i).toString(16).padStart(32, "0")}` as RunId,
    value: Uint8Array.of(1),
    mayShare: true,
  }));
}

Deno.test("entries: an entry that moves to its own row during a read is found, once", async () => {
  for (const reverse of [false, true]) {
    for (const listsBefore of [0, 1, 2]) {
      await using temp = await TempStore.open();
      const { store } = temp;
      const entries = entriesFrom(100, 30);
      await add(store, entries, 1);
      const moved = entries[10]!;
      let lists = 0;
      const move = async () => {
        const stored = (await readEntries(store, ORDER, ALL_ENTRIES, { limit: 100 })).entries[10]!;
        const { sets, deletes } = await removeEntries(store, [stored]);
        await add(store, [{ ...moved, value: Uint8Array.of(2), mayShare: false }], 2);
        await store.writer.commit({ sets, deletes });
      };
      const reader = replaced(store.reader, {
        list: async function* (...args: Parameters<Deno.Kv["list"]>) {
          if (lists++ === listsBefore) await move();
          yield* store.reader.list(...args);
        },
      });
      const page = await readEntries({ ...store, reader }, ORDER, ALL_ENTRIES, {
        limit: 100,
        reverse,
      });
      assertEquals(page.entries.map(nameOf), within(entries, ALL_ENTRIES, reverse).map(nameOf));
    }
  }
});

TempStore.test("entries: a page of a span with a thousand blocks reads each once, and decodes few", async ({ store }) => {
  const blocks = 1_000;
  const all: EntryToAdd[] = [];
  for (let block = 0; block < blocks; block++) {
    // Every block covers the complete span.
    const entries = [0, 100, BLOCK_SPAN - 1].map((at, i) => ({
      ...entriesFrom(at, 1)[0]!,
      run: `run_eu_${(block * 3 + i).toString(16).padStart(32, "0")}` as RunId,
    }));
    all.push(...entries);
    await add(store, entries, block + 1);
  }
  // The span before it is not needed.
  await add(
    store,
    entriesFrom(0, 2).map((entry) => ({ ...entry, at: entry.at - BLOCK_SPAN })),
    blocks + 1,
  );
  const scope = new ReadScope(new AbortController().signal);
  const startedMs = cpuMs();
  const page = await readScopes.run(
    scope,
    () => readEntries(store, ORDER, ALL_ENTRIES, { limit: 101, reverse: true }),
  );
  const ms = cpuMs() - startedMs;
  assertEquals(plain(page.entries), plain(within(all, ALL_ENTRIES, true).slice(0, 101)));
  assertEquals(scope.rows, blocks + 1);
  assert(ms < 1_000, `${ms} ms`);
  // Blocks with lower numbers are left out if the caller asks for it.
  const { rows } = await readEntries(store, ORDER, { after: { at: 0, run: "" }, before: null }, {
    limit: 5,
    fromBlock: 901,
  });
  assertEquals(rows, 100);
});

TempStore.test("entries: a cursor reads each block once, however many parts it reads", async (temp) => {
  const { store } = temp;
  const blocks = 100;
  for (let block = 0; block < blocks; block++) {
    await add(store, entriesFrom(block * 40, 40), block + 1);
  }
  const reader = new EntryReader(store, ORDER, { end: null, reverse: true });
  let rows = 0;
  let count = 0;
  for (let from: Position | null = null;;) {
    const page = await reader.read(from, 30);
    rows += page.rows;
    count += page.entries.length;
    if (page.entries.length < 30) break;
    from = page.entries.at(-1) ?? null;
  }
  const stored = await temp.keysBelow(keys.blocks(ORDER));
  assertEquals([count, rows], [40 * blocks, stored.length]);
});
