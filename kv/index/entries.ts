/**
 * Orders: rows that put runs in an order, in an index, in the feed and by their expiry.
 *
 * An entry has a row of its own, or it shares one with others of its commit: one row instead of a
 * row for each run. Only this folder knows which.
 *
 * @module
 */
import { type Region, REGIONS, type RunId } from "../../domain/core/ids.ts";
import { BLOCK_FAMILY, keyParts, keys } from "../base/keys.ts";
import { eachRow, getAll, listRows, type Store } from "../store.ts";
import { keyText, type KvSet } from "../writer/group.ts";
import { Buffer } from "node:buffer";
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { ModelName } from "../../domain/runs/model_usage.ts";
import { createHash } from "node:crypto";
import { groupName, type RollupGroup } from "../../domain/spend/rollup.ts";

/** Fewest entries of a block: a single one has its own row, which needs no merge. */
const BLOCK_ENTRIES_MIN = 2;

/**
 * Maximum entries that one commit adds to an order. So the changes of a block are among this many
 * from the block's number on.
 */
export const ENTRIES_PER_COMMIT_MAX = 100;

/** An entry to write. */
export interface EntryToAdd extends Entry {
  /**
   * True if it may share a row. It must be close to the time of the commit, which bounds the
   * blocks that overlap. Its position must be new in the order: a reader reads blocks before the
   * rows of single entries, so it would miss an entry that moves into a block meanwhile. A value
   * other than `true` or at most 255 bytes still gets its own row.
   */
  readonly mayShare: boolean;
}

/**
 * Returns the rows of the entries that a commit adds, and the runs with an entry in a block.
 *
 * @param number number of the commit's blocks, unique in each order; null to share no row
 * @param sharing runs whose entries may share rows
 * @throws {RangeError} for too many entries of one order
 */
export function addEntries(
  added: readonly EntryToAdd[],
  number: number | null,
  sharing: ReadonlySet<RunId>,
) {
  const sets: KvSet[] = [];
  const shared = new Set<RunId>();
  const groups = new Map<string, EntryToAdd[]>();
  // Most entries of a commit share their order.
  const names = new Map<Order, string>();
  const single = ({ order, at, run, value }: EntryToAdd) =>
    sets.push({ key: keys.entry(order, at, run), value });
  for (const entry of added) {
    const { order, at, mayShare, run, value } = entry;
    if (number === null || !mayShare || !sharing.has(run) || !isPackable(value)) {
      single(entry);
      continue;
    }
    let name = names.get(order);
    if (name === undefined) names.set(order, name = `${order.join("\0")}\0`);
    name += spanEnd(at);
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

/**
 * Returns the rows to write so that entries are removed. It reads the blocks that they may be in;
 * the commit must check a version that every change of these blocks changes.
 */
export async function removeEntries(store: Store, removed: readonly EntryToRemove[]) {
  const blocksOf = ({ order, at, blocks }: EntryToRemove) =>
    blocks.map((number) => blockKey(order, at, number));
  const candidates = new Map(removed.flatMap(blocksOf).map((key) => [keyText(key), key]));
  const left = new Map<string, Map<string, Entry>>();
  for (const row of await getAll(store, [...candidates.values()])) {
    if (row.versionstamp === null) continue;
    const entries = unpackBlock(row).map((entry) => [nameOf(entry), entry] as const);
    left.set(keyText(row.key), new Map(entries));
  }
  const changed = new Set<string>();
  const deletes: Deno.KvKey[] = [];
  for (const entry of removed) {
    const block = blocksOf(entry).map(keyText)
      .find((block) => left.get(block)?.delete(nameOf(entry)));
    if (block === undefined) deletes.push(keys.entry(entry.order, entry.at, entry.run));
    else changed.add(block);
  }
  const sets: KvSet[] = [];
  for (const block of changed) {
    const key = candidates.get(block) as Deno.KvKey;
    const entries = [...left.get(block)?.values() ?? []];
    if (entries.length === 0) deletes.push(key);
    else sets.push({ key, value: packBlock(entries) });
  }
  return { sets, deletes };
}

function nameOf({ at, run }: Position): string {
  return `${at} ${run}`;
}

/**
 * Reads the values that are stored at the position of each entry, in a row of its own and in the
 * blocks that may hold it.
 */
export async function findValues(
  store: Store,
  wanted: readonly EntryToRemove[],
): Promise<unknown[][]> {
  const rows = await getAll(
    store,
    wanted.flatMap(({ order, at, run, blocks }) => [
      keys.entry(order, at, run),
      ...blocks.map((number) => blockKey(order, at, number)),
    ]),
  );
  return wanted.map((entry) => {
    const [own, ...shared] = rows.splice(0, 1 + entry.blocks.length);
    const inBlocks = shared.flatMap(intactEntries)
      .filter((other) => comparePositions(other, entry) === 0);
    const values = inBlocks.map(({ value }) => value);
    return own === undefined || own.versionstamp === null ? values : [...values, own.value];
  });
}

/**
 * Yields the rows of all orders below a prefix: the values in each, the key that a row of its own
 * would begin with, and whether it is a block that no commit writes.
 */
export async function* eachOrderRow(store: Store, prefix: Order) {
  for await (const { key, value } of eachRow(store, { prefix })) {
    yield { key, values: [value], isDamaged: false };
  }
  for await (const row of eachRow(store, { prefix: keys.blocks(prefix) })) {
    const entries = intactEntries(row);
    yield {
      key: row.key.slice(1),
      values: entries.map(({ value }) => value),
      isDamaged: !isBlockOf(entries, row.value),
    };
  }
}

/**
 * Returns the entries of a block; none if it is not one. Blocks only lose entries, so one of a commit
 * never has more than the commit added.
 */
function intactEntries({ key, value }: Deno.KvEntryMaybe<unknown>): StoredEntry[] {
  const entries = value instanceof Uint8Array ? unpackBlock({ key, value }) : [];
  return entries.length > ENTRIES_PER_COMMIT_MAX ? [] : entries;
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
  /**
   * Least number of the blocks in the first span, reading forwards. It saves reading blocks whose
   * entries are known to be before the range.
   */
  readonly fromBlock?: number;
}

/** Reads the first entries of a range. */
export function readEntries(
  store: Store,
  order: Order,
  { after, before }: EntryRange,
  { limit, reverse = false, fromBlock = 0 }: EntryOptions,
): Promise<EntryPage> {
  return reverse
    ? new EntryReader(store, order, { end: after, reverse }).read(before, limit)
    : new EntryReader(store, order, { end: before, reverse, fromBlock }).read(after, limit);
}

/** Reads the last key part of the first order in a range of orders; null if there is none. */
export async function firstOrder(
  store: Store,
  { start, end }: { readonly start: Order; readonly end: Order },
): Promise<string | null> {
  // An order may have blocks, rows of single entries, or both.
  const rows = [
    ...await listRows(store, { start: keys.blocks(start), end: keys.blocks(end) }, { limit: 1 }),
    ...await listRows(store, { start, end }, { limit: 1 }),
  ];
  const names = rows.map(({ key }) => Buffer.from(keyParts.order(key)));
  return names.sort(Buffer.compare)[0]?.toString() ?? null;
}

/**
 * Blocks per read: at first, and at most; each read has four times as many as the one before. All
 * entries of a block are decoded, so the first read is small.
 */
const BLOCKS_PER_READ = { first: 8, max: 128 } as const;

/** Sorts after every number and text in a key. */
const LAST = true;

/**
 * Reads the entries of an order, part by part in one direction. It keeps entries of blocks in memory
 * until they are read.
 *
 * An entry whose value changes may move from its block to a row of its own, never the other way. So
 * the reader reads the blocks of a range before the other rows of it: no entry is missed.
 */
export class EntryReader {
  readonly #store: Store;
  readonly #order: Order;
  readonly #end: Position | null;
  readonly #isReverse: boolean;
  readonly #fromBlock: number;
  /** Entries of the blocks that were read, in reading order. */
  #shared: StoredEntry[] = [];
  /** Block that was read last; null to begin with the span of a position. */
  #lastBlock: Deno.KvKey | null = null;
  /** True if no further blocks are in range. */
  #hasAllBlocks = false;
  #blocksPerRead: number = BLOCKS_PER_READ.first;
  #rows = 0;

  /**
   * @param end position at which the reader ends, exclusive; null for none
   * @param reverse true to begin with the last entry
   * @param fromBlock as in {@link EntryOptions}
   */
  constructor(
    store: Store,
    order: Order,
    { end, reverse, fromBlock = 0 }: {
      readonly end: Position | null;
      readonly reverse: boolean;
      readonly fromBlock?: number;
    },
  ) {
    [this.#store, this.#order, this.#end] = [store, order, end];
    [this.#isReverse, this.#fromBlock] = [reverse, fromBlock];
  }

  /**
   * Reads the next entries.
   *
   * @param from position after which to begin in reading order, at or after those read so far; null
   * for the first entry
   */
  async read(from: Position | null, limit: number): Promise<EntryPage> {
    this.#rows = 0;
    if (from !== null && this.#end !== null && this.#compare(from, this.#end) >= 0) {
      return { entries: [], rows: 0 };
    }
    if (from !== null) this.#skipTo(from);
    while (!this.#hasAllBlocks && this.#completeEntries() < limit) await this.#readBlocks(from);
    const shared = this.#shared.slice(0, Math.min(limit, this.#completeEntries()));
    // Single entries after the last of these are not needed.
    const end = shared.length < limit ? this.#end : shared.at(-1) ?? null;
    const single = await this.#readSingle(from, end, limit);
    return { entries: this.#merge(single, shared).slice(0, limit), rows: this.#rows };
  }

  /** Drops entries up to a position. */
  #skipTo(from: Position): void {
    const next = this.#shared.findIndex((entry) => this.#compare(entry, from) > 0);
    this.#shared = next < 0 ? [] : this.#shared.slice(next);
    if (this.#lastBlock === null || this.#hasAllBlocks) return;
    const [end, span] = [keyParts.position(this.#lastBlock), spanEnd(from.at)];
    // Spans between the blocks in memory and the position are not read.
    if (this.#isReverse ? span < end : span > end) this.#lastBlock = null;
  }

  /**
   * Counts the entries before the span of the last block. Blocks of one span overlap, so a span is
   * complete when all its blocks are read.
   */
  #completeEntries(): number {
    if (this.#hasAllBlocks || this.#lastBlock === null) return this.#shared.length;
    const end = keyParts.position(this.#lastBlock);
    return this.#shared.findLastIndex(({ at }) => spanEnd(at) !== end) + 1;
  }

  /** Reads the next blocks, first those of the span of a position. */
  async #readBlocks(from: Position | null): Promise<void> {
    const prefix = keys.blocks(this.#order);
    const [last, end, limit] = [this.#lastBlock, this.#end, this.#blocksPerRead];
    const startOf = (position: Position | null) =>
      position === null ? prefix : [...prefix, spanEnd(position.at)];
    const rows = await this.#list(
      this.#isReverse ? { start: startOf(end), end: last ?? [...startOf(from), LAST] } : {
        start: last === null
          ? [...startOf(from), ...from === null ? [] : [this.#fromBlock]]
          : [...last, LAST],
        end: [...startOf(end), LAST],
      },
      limit,
    );
    this.#blocksPerRead = Math.min(BLOCKS_PER_READ.max, 4 * limit);
    this.#lastBlock = rows.at(-1)?.key ?? last;
    this.#hasAllBlocks = rows.length < limit;
    for (const row of rows) {
      for (const entry of unpackBlock(row)) {
        const isAfter = from === null || this.#compare(entry, from) > 0;
        if (isAfter && (end === null || this.#compare(entry, end) < 0)) this.#shared.push(entry);
      }
    }
    this.#shared.sort((a, b) => this.#compare(a, b));
  }

  /** Reads entries that have rows of their own. */
  async #readSingle(from: Position | null, to: Position | null, limit: number) {
    const order = this.#order;
    const [after, before] = this.#isReverse ? [to, from] : [from, to];
    const rows = await this.#list({
      start: after === null ? order : [...order, after.at, after.run, LAST],
      end: [...order, ...before === null ? [LAST] : [before.at, before.run]],
    }, limit);
    return rows.map(({ key, value }): StoredEntry => {
      const [at, run] = [keyParts.position(key), keyParts.run(key)];
      return { order, at, run, value, blocks: [] };
    });
  }

  async #list(selector: Deno.KvListSelector, limit: number): Promise<Deno.KvEntry<unknown>[]> {
    const rows = await listRows(this.#store, selector, { limit, reverse: this.#isReverse });
    this.#rows += rows.length;
    return rows;
  }

  /** Merges entries; of an entry that moved during the read, keeps the newer row. */
  #merge(single: readonly StoredEntry[], shared: readonly StoredEntry[]): readonly StoredEntry[] {
    if (shared.length === 0) return single;
    if (single.length === 0) return shared;
    const merged = [...single, ...shared].sort((a, b) => this.#compare(a, b));
    return merged.filter((entry, i) => i === 0 || this.#compare(merged[i - 1]!, entry) !== 0);
  }

  /** Compares two positions in reading order. */
  #compare(a: Position, b: Position): number {
    return this.#isReverse ? comparePositions(b, a) : comparePositions(a, b);
  }
}

/** Maximum characters of a model's name in a key, and of its prefix if it is longer. */
const MODEL_CHARS = { max: 200, prefix: 150 } as const;

/** Digits of costs that the index distinguishes: a tenth of a cent to thousands of dollars. */
const COST_DIGITS = { min: 10, max: 16 } as const;

/** All cost magnitudes in ascending order. */
export const COST_PARTS = Array.from(
  { length: COST_DIGITS.max - COST_DIGITS.min + 1 },
  (_, i) => [1, 2, 5].map((first) => partOf(COST_DIGITS.min + i, first)),
).flat();

/** Returns the key part of an agent. */
export function agentPart(slug: string): string {
  return keyPart({ kind: "agent", value: slug });
}

/** Returns the key part of a customer. */
export function customerPart(customer: string): string {
  return keyPart({ kind: "customer", value: customer });
}

/** Returns the key part of a feature. */
export function featurePart(feature: string): string {
  return keyPart({ kind: "feature", value: feature });
}

/** Returns the key part of a nonzero cost's magnitude: the number of digits, then 1, 2 or 5. */
export function costPart(cost: Picodollars): string {
  const { min, max } = COST_DIGITS;
  const text = `${cost}`;
  if (text.length < min) return partOf(min, 1);
  if (text.length > max) return partOf(max, 5);
  const first = Number(text[0]);
  return partOf(text.length, first < 2 ? 1 : first < 5 ? 2 : 5);
}

/** Returns all cost magnitudes that may contain this cost or a higher one. */
export function costPartsFrom(cost: Picodollars): string[] {
  const least = costPart(cost);
  return COST_PARTS.filter((part) => part >= least);
}

function partOf(digits: number, first: number): string {
  return `${digits}`.padStart(2, "0") + first;
}

/** Returns the key part of a model: the name comes first, to find it for any provider. */
export function modelPart({ provider, model }: ModelName): string {
  const name = JSON.stringify([model, provider]);
  if (name.length <= MODEL_CHARS.max) return name;
  const hash = createHash("sha256").update(name).digest("base64url");
  return `${beginning(name)}#${hash}`;
}

/** Returns the common prefix of a model name's parts for all providers; other names may match. */
export function modelPrefix(model: string): string {
  return beginning(JSON.stringify([model]).slice(0, -1));
}

/** Truncates a long name without splitting a surrogate pair. */
function beginning(text: string): string {
  const cut = text.slice(0, MODEL_CHARS.prefix);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** Maximum characters of a group name in a key; 3 bytes each stay well below 2,048 bytes. */
const NAME_CHARS_MAX = 200;

/** Returns the key part of a group; a name that is too long is replaced by its SHA-256. */
export function keyPart(group: RollupGroup): string {
  const name = groupName(group);
  // A name is a JSON array, so it never begins with "#".
  return name.length <= NAME_CHARS_MAX
    ? name
    : `#${createHash("sha256").update(name).digest("base64url")}`;
}

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
