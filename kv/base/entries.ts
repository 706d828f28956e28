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
import { BLOCK_FAMILY, keyParts, keys } from "./keys.ts";

/** Span of the positions of a block; milliseconds in an order by time. */
export const BLOCK_SPAN = 250;

/** Fewest entries of a block: a single one has its own row, which needs no merge. */
const BLOCK_ENTRIES_MIN = 2;

/**
 * Maximum entries that one commit adds to an order. So the changes of a block are among this many
 * from the block's number on.
 */
export const ENTRIES_PER_COMMIT_MAX = 100;

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
   * blocks that overlap. Its position must be new in the order: a reader reads blocks before the
   * rows of single entries, so it would miss an entry that moves into a block meanwhile. A value
   * other than `true` or at most 255 bytes still gets its own row.
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

/** Bytes before the heads of a block: the number of entries. */
const COUNT_BYTES = 2;

/** Offsets in the head of an entry: position before the end of the span, region, id, bytes. */
const REGION = 2, ID = 3, LENGTH = 19;

/** Bytes of the head of an entry. */
const HEAD_BYTES = 20;

/** Maximum bytes of a value in a block. */
const VALUE_BYTES_MAX = 255;

/**
 * Packs entries of one span: the number of entries, a head of fixed size for each in ascending
 * order, then their values. So a reader finds an entry without decoding the others.
 */
export function packBlock(entries: readonly Entry[]): Uint8Array {
  const sorted = entries.toSorted(comparePositions);
  const values = sorted.map(({ value }) => value instanceof Uint8Array ? value : NO_BYTES);
  let valueAt = COUNT_BYTES + HEAD_BYTES * sorted.length;
  const block = new Uint8Array(values.reduce((size, { length }) => size + length, valueAt));
  block[0] = sorted.length >> 8;
  block[1] = sorted.length;
  for (const [i, { at, run }] of sorted.entries()) {
    const head = COUNT_BYTES + HEAD_BYTES * i;
    const value = values[i] ?? NO_BYTES;
    const offset = spanEnd(at) - at;
    block[head] = offset >> 8;
    block[head + 1] = offset;
    block[head + REGION] = REGIONS.indexOf(run.slice(4, 6) as Region);
    block.subarray(head + ID, head + LENGTH).setFromHex(run.slice(7));
    block[head + LENGTH] = value.length;
    block.set(value, valueAt);
    valueAt += value.length;
  }
  return block;
}

const NO_BYTES = new Uint8Array();

/** Returns whether a block can hold a value: `true`, or some bytes. */
function isPackable(value: unknown): boolean {
  return value === true ||
    value instanceof Uint8Array && value.length > 0 && value.length <= VALUE_BYTES_MAX;
}

/** A stored block, whose entries are decoded one at a time. */
export class Block {
  /** Number of entries. */
  readonly count: number;
  /** Last position of the span. */
  readonly end: number;
  readonly #key: Deno.KvKey;
  readonly #bytes: Uint8Array;

  /** @param row the block's row */
  constructor({ key, value }: Pick<Deno.KvEntry<unknown>, "key" | "value">) {
    [this.#key, this.#bytes] = [key, value as Uint8Array];
    this.end = keyParts.position(key);
    this.count = this.#byte(0) << 8 | this.#byte(1);
  }

  /** Decodes an entry, by its index in ascending order. */
  entry(index: number): StoredEntry {
    const head = COUNT_BYTES + HEAD_BYTES * index;
    let valueAt = COUNT_BYTES + HEAD_BYTES * this.count;
    for (let i = COUNT_BYTES + LENGTH; i < head; i += HEAD_BYTES) valueAt += this.#byte(i);
    const length = this.#byte(head + LENGTH);
    const id = this.#bytes.subarray(head + ID, head + LENGTH).toHex();
    return {
      at: this.#position(head),
      run: `run_${REGIONS[this.#byte(head + REGION)]}_${id}` as RunId,
      value: length === 0 ? true : this.#bytes.subarray(valueAt, valueAt + length),
      row: this.#key,
    };
  }

  /** Compares an entry with a position. */
  compare(index: number, position: Position): number {
    return this.#position(COUNT_BYTES + HEAD_BYTES * index) - position.at ||
      comparePositions(this.entry(index), position);
  }

  #position(head: number): number {
    return this.end - (this.#byte(head) << 8 | this.#byte(head + 1));
  }

  #byte(at: number): number {
    return this.#bytes[at] ?? 0;
  }
}

/** Returns the entries of a block's row, in ascending order. */
export function unpackBlock(row: Deno.KvEntry<unknown>): StoredEntry[] {
  const block = new Block(row);
  return Array.from({ length: block.count }, (_, i) => block.entry(i));
}

/**
 * Packs the entries that a commit adds; returns their rows, and the runs with an entry in a block.
 *
 * @param number number of the commit's blocks, unique in each order; null to share no row
 * @param sharing runs whose entries may share rows
 * @throws {RangeError} for too many entries of one order
 */
export function packEntries(
  added: readonly EntryToAdd[],
  number: number | null,
  sharing: ReadonlySet<RunId>,
) {
  const sets: { key: Deno.KvKey; value: unknown }[] = [];
  const shared = new Set<RunId>();
  const groups = new Map<string, EntryToAdd[]>();
  // Most entries of a commit share their order.
  const texts = new Map<Deno.KvKey, string>();
  const textOf = (order: Deno.KvKey) => {
    let text = texts.get(order);
    if (text === undefined) texts.set(order, text = `${order.join("\0")}\0`);
    return text;
  };
  const single = ({ order, at, run, value }: EntryToAdd) =>
    sets.push({ key: keys.entry(order, at, run), value });
  for (const entry of added) {
    const { mayShare, run, value } = entry;
    if (number === null || !mayShare || !sharing.has(run) || !isPackable(value)) {
      single(entry);
      continue;
    }
    const name = `${textOf(entry.order)}${spanEnd(entry.at)}`;
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
    if (group.length > ENTRIES_PER_COMMIT_MAX) {
      throw new RangeError(`A commit adds ${group.length} entries to one order`);
    }
    sets.push({ key: blockKey(first.order, first.at, number), value: packBlock(group) });
    for (const { run } of group) shared.add(run);
  }
  return { sets, shared };
}
