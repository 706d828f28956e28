/**
 * Entries: rows that put runs in an order, in an index, in the feed and by their expiry.
 *
 * An entry has a row of its own, or it shares one. Entries of one order that one commit writes and
 * that lie within {@link BLOCK_SPAN} of each other are stored as a block: one row instead of a row
 * for each run. Blocks of different commits may overlap by less than that span, so a reader merges
 * a bounded number of them.
 *
 * @module
 */
import { type Region, REGIONS, type RunId } from "../../domain/core/ids.ts";
import { BLOCK_FAMILY, keys } from "./keys.ts";

/** Span of the positions of a block; milliseconds in an order by time. */
export const BLOCK_SPAN = 1_000;

/** Fewest entries of a block: a single one has its own row, which needs no merge. */
const BLOCK_ENTRIES_MIN = 2;

/** Position of a run in an order; `run` may be a text between two ids. */
export interface Position {
  /** Instant, unix milliseconds, or the number of a change. */
  readonly at: number;
  readonly run: string;
}

/** An entry of an order. */
export interface Entry {
  readonly at: number;
  readonly run: RunId;
  /** Bytes in an index; `true` or the time of a deletion in other orders. */
  readonly value: unknown;
}

/** An entry as stored. */
export interface StoredEntry extends Entry {
  /** Key of its row, which other entries may share. */
  readonly row: Deno.KvKey;
}

/** An entry to write. */
export interface EntryToAdd extends Entry {
  /** Prefix of the order. */
  readonly order: Deno.KvKey;
  /**
   * True if it may share a row. It must be close to the time of the commit, which bounds the
   * blocks that overlap, and its value must be bytes or `true`.
   */
  readonly mayShare: boolean;
}

/** An entry to remove. */
export interface EntryToRemove extends Pick<Entry, "at" | "run"> {
  /** Prefix of the order. */
  readonly order: Deno.KvKey;
  /** Numbers of the blocks that may hold it; without any, it has a row of its own. */
  readonly blocks: readonly number[];
}

/** Compares two positions. */
export function comparePositions(a: Position, b: Position): number {
  return a.at - b.at || (a.run < b.run ? -1 : a.run > b.run ? 1 : 0);
}

/** Returns whether a row is a block, by its key. */
export function isBlock([family]: Deno.KvKey): boolean {
  return family === BLOCK_FAMILY;
}

/** Returns the last position of the span that a position lies in. */
export function spanEnd(at: number): number {
  return Math.floor(at / BLOCK_SPAN) * BLOCK_SPAN + BLOCK_SPAN - 1;
}

/** Returns the key of the block that would hold a position. */
export function blockKey(order: Deno.KvKey, at: number, number: number): Deno.KvKey {
  return keys.block(order, spanEnd(at), number);
}

/** Bytes of a packed entry without its value: position, region, id and length of the value. */
const HEAD_BYTES = 2 + 1 + 16 + 1;

/** Packs entries of one span, in ascending order. */
export function packBlock(entries: readonly Entry[]): Uint8Array {
  let size = 0;
  for (const { value } of entries) size += HEAD_BYTES + bytesOf(value).length;
  const block = new Uint8Array(size);
  let to = 0;
  for (const { at, run, value } of entries.toSorted(comparePositions)) {
    const bytes = bytesOf(value);
    const offset = spanEnd(at) - at;
    block[to] = offset >> 8;
    block[to + 1] = offset;
    block[to + 2] = REGIONS.indexOf(run.slice(4, 6) as Region);
    block.subarray(to + 3, to + 19).setFromHex(run.slice(7));
    block[to + 19] = bytes.length;
    block.set(bytes, to + HEAD_BYTES);
    to += HEAD_BYTES + bytes.length;
  }
  return block;
}

const NO_BYTES = new Uint8Array();

function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : NO_BYTES;
}

/** Returns the entries of a block's row, in ascending order. */
export function unpackBlock({ key, value }: Deno.KvEntry<unknown>): StoredEntry[] {
  const block = value as Uint8Array;
  const end = Number(key.at(-2));
  const entries: StoredEntry[] = [];
  for (let from = 0; from < block.length;) {
    const offset = (block[from] ?? 0) << 8 | (block[from + 1] ?? 0);
    const region = REGIONS[block[from + 2] ?? 0];
    const hex = block.subarray(from + 3, from + 19).toHex();
    const valueEnd = from + HEAD_BYTES + (block[from + 19] ?? 0);
    const bytes = block.subarray(from + HEAD_BYTES, valueEnd);
    entries.push({
      at: end - offset,
      run: `run_${region}_${hex}` as RunId,
      value: bytes.length === 0 ? true : bytes,
      row: key,
    });
    from = valueEnd;
  }
  return entries;
}

/** Rows that store entries. */
export interface PackedEntries {
  readonly sets: readonly { readonly key: Deno.KvKey; readonly value: unknown }[];
  /** Runs with an entry in a block. */
  readonly shared: ReadonlySet<RunId>;
}

/**
 * Packs the entries that a commit adds.
 *
 * @param number number of the commit's blocks, unique in each order; null to share no row
 * @param sharing runs whose entries may share rows
 */
export function packEntries(
  added: readonly EntryToAdd[],
  number: number | null,
  sharing: ReadonlySet<RunId>,
): PackedEntries {
  const sets: { key: Deno.KvKey; value: unknown }[] = [];
  const shared = new Set<RunId>();
  const groups = new Map<string, EntryToAdd[]>();
  const single = ({ order, at, run, value }: EntryToAdd) =>
    sets.push({ key: keys.entry(order, at, run), value });
  for (const entry of added) {
    if (number === null || !entry.mayShare || !sharing.has(entry.run)) {
      single(entry);
      continue;
    }
    const name = `${entry.order.join("\0")}\0${spanEnd(entry.at)}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [entry]);
    else group.push(entry);
  }
  for (const group of groups.values()) {
    const [first] = group;
    if (first === undefined || number === null) continue;
    if (group.length < BLOCK_ENTRIES_MIN) {
      single(first);
      continue;
    }
    sets.push({ key: blockKey(first.order, first.at, number), value: packBlock(group) });
    for (const { run } of group) shared.add(run);
  }
  return { sets, shared };
}
