/**
 * Event ids packed as bytes, as ledger pages store them.
 *
 * @module
 */
import { type EventId, type Region, REGIONS } from "../core/ids.ts";

/** Bytes of one packed id: the region, then the 16 bytes of the hex. */
export const PACKED_ID_BYTES = 17;

/** Slots of a page's hash table: more than twice the ids a page can hold. */
const SLOTS_MIN = 1_024;

/** Hash table shared by all pages, because allocating one takes longer than filling it. */
const sharedSlots = new Uint16Array(SLOTS_MIN);

/** Packs event ids side by side, 17 bytes each. */
export function packEventIds(ids: readonly EventId[]): Uint8Array {
  const packed = new Uint8Array(ids.length * PACKED_ID_BYTES);
  for (const [index, id] of ids.entries()) packInto(packed, index * PACKED_ID_BYTES, id);
  return packed;
}

/** Unpacks the ids packed by {@link packEventIds}. */
export function unpackEventIds(packed: Uint8Array): EventId[] {
  const ids: EventId[] = [];
  for (let at = 0; at < packed.length; at += PACKED_ID_BYTES) {
    const hex = packed.subarray(at + 1, at + PACKED_ID_BYTES).toHex();
    ids.push(`evt_${REGIONS[packed[at] ?? 0]}_${hex}` as EventId);
  }
  return ids;
}

/**
 * Adds the ids of events that a page does not have yet.
 *
 * Ids are compared as bytes in a small hash table. A `Set` would hash the text of each id, which
 * takes longer than all other work on a batch.
 *
 * @param page packed ids
 * @returns the extended page, and the events whose ids were new; of duplicates, the first
 */
export function addToPage<T extends { readonly id: EventId }>(
  page: Uint8Array,
  events: readonly T[],
): { readonly page: Uint8Array; readonly fresh: readonly T[] } {
  const packed = new Uint8Array(page.length + events.length * PACKED_ID_BYTES);
  packed.set(page);
  const slots = emptySlots(packed.length / PACKED_ID_BYTES);
  for (let at = 0; at < page.length; at += PACKED_ID_BYTES) enter(packed, at, slots);
  const fresh: T[] = [];
  let end = page.length;
  for (const event of events) {
    packInto(packed, end, event.id);
    if (!enter(packed, end, slots)) continue;
    fresh.push(event);
    end += PACKED_ID_BYTES;
  }
  // A copy, not a view: the store would write the complete buffer of a view.
  return { page: end === packed.length ? packed : packed.slice(0, end), fresh };
}

/** Number of random values an {@link EventIdSet} hashes with: 256 for each byte of the hex. */
export const HASH_NUMBERS = 16 * 256;

/** Initial capacity of a set in ids, and the factor it grows by. */
const SET_IDS_MIN = 512, GROWTH = 2;

/** Arrays of every empty set: most runs never seal a page, and their set stays empty. */
const NO_IDS = new Uint8Array(), FREE_SLOT = new Uint32Array(1);

/**
 * A set of event ids that takes about 30 bytes per id. It hashes with random numbers, so no client
 * can choose ids that collide.
 */
export class EventIdSet {
  readonly #numbers: Uint32Array;
  #ids = NO_IDS;
  /**
   * Hash table, at least half empty. A slot holds the number of an id, from 1; 0 marks a free slot.
   */
  #slots = FREE_SLOT;
  #size = 0;

  /** Creates an empty set that hashes with {@link HASH_NUMBERS} random numbers. */
  constructor(numbers: Uint32Array) {
    this.#numbers = numbers;
  }

  /** True if the set is empty. */
  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Size of the set in bytes. */
  get bytes(): number {
    return this.#ids.length + this.#slots.byteLength;
  }

  /** Adds the ids of a page. The set must have none of them yet. */
  addPage(page: Uint8Array): void {
    const size = this.#size + page.length / PACKED_ID_BYTES;
    this.#growTo(size);
    this.#ids.set(page, this.#size * PACKED_ID_BYTES);
    while (this.#size < size) this.#enter(this.#size++);
  }

  /** Returns whether the set contains an id. */
  has(id: EventId): boolean {
    packInto(sought, 0, id);
    const last = this.#slots.length - 1;
    for (let slot = this.#hashOf(sought, 0) & last;; slot = slot + 1 & last) {
      const number = this.#slots[slot] ?? 0;
      if (number === 0) return false;
      if (areEqual(this.#ids, (number - 1) * PACKED_ID_BYTES, sought, 0)) return true;
    }
  }

  #growTo(size: number): void {
    let capacity = this.#ids.length / PACKED_ID_BYTES;
    if (size <= capacity) return;
    capacity = Math.max(capacity, SET_IDS_MIN);
    while (capacity < size) capacity *= GROWTH;
    const ids = new Uint8Array(capacity * PACKED_ID_BYTES);
    ids.set(this.#ids);
    this.#ids = ids;
    this.#slots = new Uint32Array(capacity * 2);
    for (let index = 0; index < this.#size; index++) this.#enter(index);
  }

  #enter(index: number): void {
    const last = this.#slots.length - 1;
    let slot = this.#hashOf(this.#ids, index * PACKED_ID_BYTES) & last;
    while (this.#slots[slot] !== 0) slot = slot + 1 & last;
    this.#slots[slot] = index + 1;
  }

  #hashOf(packed: Uint8Array, at: number): number {
    let hash = 0;
    for (let i = 0; i < PACKED_ID_BYTES - 1; i++) {
      hash ^= this.#numbers[i << 8 | (packed[at + 1 + i] ?? 0)] ?? 0;
    }
    return hash;
  }
}

/** Scratch buffer for the id being looked up. */
const sought = new Uint8Array(PACKED_ID_BYTES);

/** Returns an empty table with at least half its slots free; its length is a power of two. */
function emptySlots(ids: number): Uint16Array {
  if (ids * 2 <= SLOTS_MIN) return sharedSlots.fill(0);
  return new Uint16Array(2 ** Math.ceil(Math.log2(ids * 2)));
}

/** Inserts the id at `at` into the table; returns false if the table already has it. */
function enter(packed: Uint8Array, at: number, slots: Uint16Array): boolean {
  const last = slots.length - 1;
  for (let slot = hashOf(packed, at) & last;; slot = slot + 1 & last) {
    // A slot holds the number of an id, from 1; 0 marks a free slot.
    const number = slots[slot] ?? 0;
    if (number === 0) {
      slots[slot] = at / PACKED_ID_BYTES + 1;
      return true;
    }
    if (areEqual(packed, at, packed, (number - 1) * PACKED_ID_BYTES)) return false;
  }
}

/**
 * Hashes the 16 bytes of the hex. Clients can force collisions, but only within their own page.
 */
function hashOf(packed: Uint8Array, at: number): number {
  let hash = 0;
  for (let i = at + 1; i < at + PACKED_ID_BYTES; i++) {
    hash = Math.imul(hash ^ (packed[i] ?? 0), 0x01000193);
  }
  return hash ^ hash >>> 15;
}

function areEqual(a: Uint8Array, atA: number, b: Uint8Array, atB: number): boolean {
  for (let i = 0; i < PACKED_ID_BYTES; i++) {
    if (a[atA + i] !== b[atB + i]) return false;
  }
  return true;
}

function packInto(packed: Uint8Array, at: number, id: EventId): void {
  // An id is `evt_`, a two-letter region, an underscore and the hex.
  packed[at] = REGIONS.indexOf(id.slice(4, 6) as Region);
  for (let from = 7, to = at + 1; from < id.length; from += 2, to++) {
    packed[to] = hexDigit(id.charCodeAt(from)) << 4 | hexDigit(id.charCodeAt(from + 1));
  }
}

/**
 * Returns the value of a lowercase hex digit: codes from 48 are digits, codes from 97 are letters.
 */
function hexDigit(code: number): number {
  return (code & 15) + (code >> 6) * 9;
}
