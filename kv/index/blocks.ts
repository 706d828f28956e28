/**
 * Entries of orders, and blocks: rows that several entries share.
 *
 * Entries of one order that one commit writes and that lie within {@link BLOCK_SPAN} of each other
 * are stored as a block. Blocks of different commits may overlap by less than that span, so a reader
 * merges a bounded number of them.
 *
 * @module
 */
import { type Region, REGIONS, type RunId } from "../../domain/core/ids.ts";
import { BLOCK_FAMILY, keyParts, keys } from "../base/keys.ts";

/** Span of the positions of a block; milliseconds in an order by time. */
export const BLOCK_SPAN = 250;

/** Prefix of the keys of an order. */
export type Order = Deno.KvKey;

/** Position of a run in an order; `run` may be a text between two ids. */
export interface Position {
  /** Instant, unix milliseconds, or the number of a change. */
  readonly at: number;
  readonly run: string;
}

/** An entry of an order. */
export interface Entry {
  readonly order: Order;
  readonly at: number;
  readonly run: RunId;
  /** Bytes in an index; `true` or the time of a deletion in other orders. */
  readonly value: unknown;
}

/** An entry to remove. */
export interface EntryToRemove extends Omit<Entry, "value"> {
  /** Numbers of the blocks that may hold it; without any, it has a row of its own. */
  readonly blocks: readonly number[];
}

/** An entry as stored. */
export type StoredEntry = Entry & EntryToRemove;

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
export function blockKey(order: Order, at: number, number: number): Deno.KvKey {
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

/** Returns whether a block can hold a value: `true`, or some bytes. */
export function isPackable(value: unknown): boolean {
  return value === true ||
    value instanceof Uint8Array && value.length > 0 && value.length <= VALUE_BYTES_MAX;
}

const NO_BYTES = new Uint8Array();

/**
 * Packs entries of one span: the number of entries, a head of fixed size for each in ascending
 * order, then their values.
 */
export function packBlock(entries: readonly Omit<Entry, "order">[]): Uint8Array {
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

/** Returns the entries of a block's row, in ascending order. */
export function unpackBlock(row: Pick<Deno.KvEntry<unknown>, "key" | "value">): StoredEntry[] {
  const bytes = row.value as Uint8Array;
  const byte = (at: number) => bytes[at] ?? 0;
  const [order, end] = [row.key.slice(1, -2), keyParts.position(row.key)];
  const blocks = [keyParts.number(row.key)];
  // Of a damaged one, at most as many as its bytes hold.
  const count = Math.min(byte(0) << 8 | byte(1), Math.floor(bytes.length / HEAD_BYTES));
  let valueAt = COUNT_BYTES + HEAD_BYTES * count;
  return Array.from({ length: count }, (_, i) => {
    const head = COUNT_BYTES + HEAD_BYTES * i;
    const id = bytes.subarray(head + ID, head + LENGTH).toHex();
    const value = bytes.subarray(valueAt, valueAt += byte(head + LENGTH));
    return {
      order,
      at: end - (byte(head) << 8 | byte(head + 1)),
      run: `run_${REGIONS[byte(head + REGION)]}_${id}` as RunId,
      value: byte(head + LENGTH) === 0 ? true : value,
      blocks,
    };
  });
}
