/**
 * Event ids side by side as bytes, the way pages of a ledger keep them.
 *
 * @module
 */
import { type EventId, type Region, REGIONS } from "./ids.ts";

/** Bytes of one packed id: the region, then the 16 bytes of the hex. */
export const PACKED_ID_BYTES = 17;

/** Slots of the table that pages look their ids up in: more than twice what a page can hold. */
const SLOTS_MIN = 1_024;

/** Every page's table in its turn, because a new one takes longer to make than to fill. */
const sharedSlots = new Uint16Array(SLOTS_MIN);

/** Packs event ids side by side, 17 bytes each. */
export function packEventIds(ids: readonly EventId[]): Uint8Array {
  const packed = new Uint8Array(ids.length * PACKED_ID_BYTES);
  for (const [index, id] of ids.entries()) packInto(packed, index * PACKED_ID_BYTES, id);
  return packed;
}

/** Reads what {@link packEventIds} wrote. */
export function unpackEventIds(packed: Uint8Array): EventId[] {
  const ids: EventId[] = [];
  for (let at = 0; at < packed.length; at += PACKED_ID_BYTES) {
    const hex = packed.subarray(at + 1, at + PACKED_ID_BYTES).toHex();
    ids.push(`evt_${REGIONS[packed[at] ?? 0]}_${hex}` as EventId);
  }
  return ids;
}

/**
 * Adds the ids of those events to a page that it does not have yet.
 *
 * They are compared as bytes in a small table: a `Set` would first compute a hash of each text,
 * which takes longer than everything else there is to decide about a batch.
 *
 * @param page packed ids
 * @returns the longer page, and the events whose ids it did not have; of two alike the first
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
  // A copy, not a view: of a view the store would write all that lies behind it.
  return { page: end === packed.length ? packed : packed.slice(0, end), fresh };
}

/** A table in which half the slots stay free; its length is a power of two. */
function emptySlots(ids: number): Uint16Array {
  if (ids * 2 <= SLOTS_MIN) return sharedSlots.fill(0);
  return new Uint16Array(2 ** Math.ceil(Math.log2(ids * 2)));
}

/** Enters the id at `at` into the table, or answers false when the table has it. */
function enter(packed: Uint8Array, at: number, slots: Uint16Array): boolean {
  const last = slots.length - 1;
  for (let slot = hashOf(packed, at) & last;; slot = slot + 1 & last) {
    // A slot holds the number of an id, from 1; 0 is a free one.
    const number = slots[slot] ?? 0;
    if (number === 0) {
      slots[slot] = at / PACKED_ID_BYTES + 1;
      return true;
    }
    if (areEqual(packed, at, (number - 1) * PACKED_ID_BYTES)) return false;
  }
}

/** Mixes the 16 bytes of the hex. Clients can make it collide, but only within their own page. */
function hashOf(packed: Uint8Array, at: number): number {
  let hash = 0;
  for (let i = at + 1; i < at + PACKED_ID_BYTES; i++) {
    hash = Math.imul(hash ^ (packed[i] ?? 0), 0x01000193);
  }
  return hash ^ hash >>> 15;
}

function areEqual(packed: Uint8Array, at: number, other: number): boolean {
  for (let i = 0; i < PACKED_ID_BYTES; i++) {
    if (packed[at + i] !== packed[other + i]) return false;
  }
  return true;
}

function packInto(packed: Uint8Array, at: number, id: EventId): void {
  // An id is evt_, two letters of region, an underscore and the hex.
  packed[at] = REGIONS.indexOf(id.slice(4, 6) as Region);
  for (let from = 7, to = at + 1; from < id.length; from += 2, to++) {
    packed[to] = hexDigit(id.charCodeAt(from)) << 4 | hexDigit(id.charCodeAt(from + 1));
  }
}

/** The value of a lower-case hex digit: codes from 48 are digits, from 97 letters. */
function hexDigit(code: number): number {
  return (code & 15) + (code >> 6) * 9;
}
