/**
 * Verifies entries: each is stored once, in a row of its own or in a block.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import {
  Block,
  blockKey,
  ENTRIES_PER_COMMIT_MAX,
  type Entry,
  packBlock,
  type Position,
} from "../base/entries.ts";
import { keys } from "../base/keys.ts";
import { eachRow, getAll, type Store } from "../store.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";

/** An entry that must be stored. */
export interface ExpectedEntry extends Entry {
  /** Prefix of the order. */
  readonly order: Deno.KvKey;
}

/**
 * Finds entries of a run that are missing, different, or stored more than once.
 *
 * @param blocks numbers of the blocks that may hold them
 */
export async function verifyEntries(
  store: Store,
  id: RunId,
  expected: readonly ExpectedEntry[],
  blocks: readonly number[],
): Promise<Mismatch[]> {
  const places = expected.map(({ order, at, run }) => [
    keys.entry(order, at, run),
    ...blocks.map((number) => blockKey(order, at, number)),
  ]);
  const rows = await getAll(store, places.flat());
  const placesOfEach = 1 + blocks.length;
  return expected.flatMap(({ order, at, run, value }, i) => {
    const [own, ...shared] = rows.slice(i * placesOfEach, (i + 1) * placesOfEach);
    const found = shared.flatMap((row) => entriesOf(row, { at, run })).map(({ value }) => value);
    if (own !== undefined && own.versionstamp !== null) found.push(own.value);
    const what = `index ${[...order.slice(2), at].join(" ")} for ${id}`;
    if (found.length === 1) return mismatch(what, { value }, { value: found[0] });
    const times = found.length === 0 ? NONE : `stored ${found.length} times`;
    return [{ what, expected: "stored", found: times }];
  });
}

/**
 * Decodes the entries of a block, or those at a position; none if it is not a block. Blocks only
 * lose entries, so one of a commit never has more than the commit added.
 */
function entriesOf({ key, value }: Deno.KvEntryMaybe<unknown>, position?: Position): Entry[] {
  if (!(value instanceof Uint8Array)) return [];
  const block = new Block({ key, value });
  if (block.count > ENTRIES_PER_COMMIT_MAX) return [];
  return Array.from({ length: block.count }, (_, i) => i)
    .filter((i) => position === undefined || block.compare(i, position) === 0)
    .map((i) => block.entry(i));
}

/** A stored row of entries. */
export interface EntryRow {
  /** Key that begins with the order, also of a block. */
  readonly key: Deno.KvKey;
  /** Values of its entries. */
  readonly values: readonly unknown[];
  /** Damage of a block. */
  readonly mismatches: readonly Mismatch[];
}

/** Iterates over the rows of all orders below a prefix. */
export async function* entryRows(store: Store, prefix: Deno.KvKey): AsyncGenerator<EntryRow> {
  for await (const { key, value } of eachRow(store, { prefix })) {
    yield { key, values: [value], mismatches: [] };
  }
  yield* blockRows(store, prefix);
}

/** Iterates over the blocks of all orders below a prefix. */
export async function* blockRows(store: Store, prefix: Deno.KvKey): AsyncGenerator<EntryRow> {
  for await (const row of eachRow(store, { prefix: keys.blocks(prefix) })) {
    const key = row.key.slice(1);
    const entries = entriesOf(row);
    const what = `block ${[key[0], ...key.slice(2)].join(" ")}`;
    const mismatches = isBlockOf(entries, row.value)
      ? []
      : [{ what, expected: "entries", found: entries.length === 0 ? NONE : "other bytes" }];
    yield { key, values: entries.map(({ value }) => value), mismatches };
  }
}

/** Returns whether a value is what a commit writes for these entries. */
function isBlockOf(entries: readonly Entry[], value: unknown): boolean {
  if (entries.length === 0 || !(value instanceof Uint8Array)) return false;
  try {
    return packBlock(entries).toHex() === value.toHex();
  } catch {
    // The id of a run is not one.
    return false;
  }
}
