/**
 * Reads and removes entries of an order, whether they have rows of their own or share blocks.
 *
 * @module
 */
import {
  blockKey,
  type EntryToRemove,
  isBlock,
  packBlock,
  type Position,
  type StoredEntry,
  unpackBlock,
} from "./base/entries.ts";
import { keyParts, keys } from "./base/keys.ts";
import { type EntryPage, EntryReader } from "./entry_reader.ts";
import { getAll, type Store } from "./store.ts";
import { keyText } from "./writer/group.ts";
import type { KvSet } from "./writer/write.ts";

export type { EntryPage } from "./entry_reader.ts";

/** Part of an order; each bound is exclusive, and null for none. */
export interface EntryRange {
  readonly after: Position | null;
  readonly before: Position | null;
}

export const ALL_ENTRIES: EntryRange = { after: null, before: null };

/** Options of a read. */
export interface EntryOptions {
  /** Maximum entries. */
  readonly limit: number;
  /** True to begin with the last entry. */
  readonly reverse?: boolean;
  /**
   * Least number of the blocks in the first span, reading forwards. It saves reading blocks whose
   * entries are known to be before the range.
   */
  readonly fromBlock?: number;
}

/** Reads the first entries of a range. */
export function listEntries(
  store: Store,
  order: Deno.KvKey,
  { after, before }: EntryRange,
  { limit, reverse = false, fromBlock = 0 }: EntryOptions,
): Promise<EntryPage> {
  return reverse
    ? new EntryReader(store, order, { end: after, reverse }).read(before, limit)
    : new EntryReader(store, order, { end: before, reverse, fromBlock }).read(after, limit);
}

/** Returns how to remove a stored entry. */
export function removalOf(order: Deno.KvKey, { at, run, row }: StoredEntry): EntryToRemove {
  return { order, at, run, blocks: isBlock(row) ? [keyParts.number(row)] : [] };
}

/**
 * Returns the rows to write so that entries are removed. It reads the blocks that they may be in;
 * the commit must check a version that every change of these blocks changes.
 */
export async function removeEntries(
  store: Store,
  removed: readonly EntryToRemove[],
): Promise<{ readonly sets: readonly KvSet[]; readonly deletes: readonly Deno.KvKey[] }> {
  const candidates = new Map<string, Deno.KvKey>();
  for (const { order, at, blocks } of removed) {
    for (const number of blocks) {
      const key = blockKey(order, at, number);
      candidates.set(keyText(key), key);
    }
  }
  const stored = await getAll(store, [...candidates.values()]);
  const blocks = new Map<string, Map<string, StoredEntry>>();
  for (const row of stored) {
    if (row.versionstamp === null) continue;
    const entries = unpackBlock(row).map((entry) => [nameOf(entry), entry] as const);
    blocks.set(keyText(row.key), new Map(entries));
  }
  const changed = new Set<string>();
  const deletes: Deno.KvKey[] = [];
  for (const entry of removed) {
    const { order, at, run } = entry;
    const names = entry.blocks.map((number) => keyText(blockKey(order, at, number)));
    const holder = names.find((name) => blocks.get(name)?.delete(nameOf(entry)));
    if (holder === undefined) deletes.push(keys.entry(order, at, run));
    else changed.add(holder);
  }
  const sets: KvSet[] = [];
  for (const name of changed) {
    const key = candidates.get(name) as Deno.KvKey;
    const left = blocks.get(name);
    if (left === undefined || left.size === 0) deletes.push(key);
    else sets.push({ key, value: packBlock([...left.values()]) });
  }
  return { sets, deletes };
}

function nameOf({ at, run }: Position): string {
  return `${at} ${run}`;
}
