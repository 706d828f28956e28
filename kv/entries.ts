/**
 * Reads and removes entries of an order, whether they have rows of their own or share blocks.
 *
 * @module
 */
import {
  BLOCK_SPAN,
  blockKey,
  comparePositions,
  type EntryToRemove,
  isBlock,
  packBlock,
  type Position,
  spanEnd,
  type StoredEntry,
  unpackBlock,
} from "./base/entries.ts";
import { keyParts, keys } from "./base/keys.ts";
import { getAll, listRows, type Store } from "./store.ts";
import { keyText } from "./writer/group.ts";
import type { KvSet } from "./writer/write.ts";

/** Part of an order; each bound is exclusive, and null for none. */
export interface EntryRange {
  readonly after: Position | null;
  readonly before: Position | null;
}

export const ALL_ENTRIES: EntryRange = { after: null, before: null };

/** Entries of a range, in order. */
export interface EntryPage {
  /** Fewer than the limit at the end of the range. */
  readonly entries: readonly StoredEntry[];
  /** Number of rows that were read. */
  readonly rows: number;
}

/** Options of a read. */
export interface EntryOptions {
  /** Maximum entries. */
  readonly limit: number;
  /** True to begin with the last entry. */
  readonly reverse?: boolean;
}

/** Reads the first entries of a range. */
export async function listEntries(
  store: Store,
  order: Deno.KvKey,
  range: EntryRange,
  options: EntryOptions,
): Promise<EntryPage> {
  const [own, shared] = await Promise.all([
    ownEntries(store, order, range, options),
    sharedEntries(store, order, range, options),
  ]);
  const rows = own.rows + shared.rows;
  if (shared.entries.length === 0) return { entries: own.entries, rows };
  const sign = options.reverse ? -1 : 1;
  const entries = [...own.entries, ...shared.entries]
    .sort((a, b) => sign * comparePositions(a, b));
  return { entries: entries.slice(0, options.limit), rows };
}

/** Reads entries that have rows of their own. */
async function ownEntries(
  store: Store,
  order: Deno.KvKey,
  { after, before }: EntryRange,
  options: EntryOptions,
): Promise<EntryPage> {
  const start = after === null ? {} : { start: [...order, after.at, after.run, true] };
  const end = before === null ? {} : { end: [...order, before.at, before.run] };
  const rows = await listRows(store, selectorOf(order, start, end), options);
  const entries = rows.map(({ key, value }) => ({
    at: keyParts.position(key),
    run: keyParts.run(key),
    value,
    row: key,
  }));
  return { entries, rows: rows.length };
}

/** Blocks per read: at first, and at most. */
const BLOCKS_PER_READ = { first: 4, max: 64 } as const;

/**
 * Reads entries of blocks. Blocks of one span overlap, so it reads a span to its end before it
 * returns the entries of that span.
 */
async function sharedEntries(
  store: Store,
  order: Deno.KvKey,
  { after, before }: EntryRange,
  { limit, reverse = false }: EntryOptions,
): Promise<EntryPage> {
  const prefix = keys.blocks(order);
  let start: Bound = after === null ? {} : { start: [...prefix, spanEnd(after.at)] };
  let end: Bound = before === null ? {} : { end: [...prefix, spanEnd(before.at), true] };
  let found: StoredEntry[] = [];
  let rowCount = 0;
  for (let blocks: number = BLOCKS_PER_READ.first;; blocks = BLOCKS_PER_READ.max) {
    const rows = await listRows(store, selectorOf(prefix, start, end), { limit: blocks, reverse });
    rowCount += rows.length;
    for (const row of rows) {
      for (const entry of unpackBlock(row)) {
        const isWithin = (after === null || comparePositions(entry, after) > 0) &&
          (before === null || comparePositions(entry, before) < 0);
        if (isWithin) found.push(entry);
      }
    }
    const last = rows.at(-1)?.key;
    if (last === undefined || rows.length < blocks) break;
    // The span of the last row may go on.
    const lastEnd = keyParts.position(last);
    const isComplete = ({ at }: StoredEntry) =>
      reverse ? at > lastEnd : at <= lastEnd - BLOCK_SPAN;
    if (found.reduce((count, entry) => count + Number(isComplete(entry)), 0) >= limit) {
      found = found.filter(isComplete);
      break;
    }
    if (reverse) end = { end: last };
    else start = { start: [...last, true] };
  }
  const sign = reverse ? -1 : 1;
  found.sort((a, b) => sign * comparePositions(a, b));
  return { entries: found.slice(0, limit), rows: rowCount };
}

type Bound = { readonly start?: Deno.KvKey; readonly end?: Deno.KvKey };

function selectorOf(prefix: Deno.KvKey, { start }: Bound, { end }: Bound): Deno.KvListSelector {
  if (start !== undefined && end !== undefined) return { start, end };
  if (start !== undefined) return { prefix, start };
  return end === undefined ? { prefix } : { prefix, end };
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
