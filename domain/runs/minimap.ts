/**
 * The minimap of a run: its events by time and kind in at most 200 buckets.
 *
 * A bucket is 2^scale ms wide and begins at a multiple of its width. The map is therefore a function
 * of the set of events alone: neither their order nor their batches change it, and an event that
 * widens the time span only merges buckets that already are neighbours.
 *
 * @module
 */
import type { RunEvent } from "./event.ts";

/** Maximum buckets of a map. */
export const BUCKETS_MAX = 200;

/** Kinds of events in a bucket, as bits. */
export const KIND_BITS = { model: 1, tool: 2, other: 4, failed: 8 } as const;

/** A minimap as stored. */
export interface Minimap {
  /** Width of a bucket: 2^scale ms. */
  readonly scale: number;
  /** Number of the first bucket since 1970. */
  readonly first: number;
  /**
   * Kinds in each bucket: a letter from `a` for the bits of {@link KIND_BITS}, followed by the count
   * of equal neighbours if there are several.
   */
  readonly cells: string;
}

/** A minimap in buckets of equal width. */
export interface MinimapBuckets {
  /** Start of the first bucket, unix milliseconds. */
  readonly startMs: number;
  /** Width of a bucket in milliseconds. */
  readonly widthMs: number;
  /** Bits of {@link KIND_BITS} for each bucket. */
  readonly kinds: Uint8Array;
}

/** Fields of an event that its buckets follow from. */
export type MappedEvent = Pick<RunEvent, "type" | "ts" | "facts">;

/** Code of the letter for a bucket without events. */
const LETTER_A = 97;

/** Adds events to a map; undefined for the map of no events. */
export function addToMinimap(map: Minimap | undefined, events: readonly MappedEvent[]): Minimap {
  let scale = map?.scale ?? 0;
  const known = map === undefined ? EMPTY : kindsOf(map.cells);
  let [low, high] = map === undefined
    ? [Infinity, -Infinity]
    : [map.first, map.first + known.length - 1];
  for (const event of events) {
    low = Math.min(low, bucketOf(event.ts, scale));
    high = Math.max(high, bucketOf(endOf(event), scale));
  }
  while (high - low >= BUCKETS_MAX) {
    scale++;
    low = Math.floor(low / 2);
    high = Math.floor(high / 2);
  }
  const kinds = new Uint8Array(high - low + 1);
  if (map !== undefined) {
    const merged = 2 ** (scale - map.scale);
    for (let i = 0; i < known.length; i++) {
      const at = Math.floor((map.first + i) / merged) - low;
      kinds[at] = (kinds[at] ?? 0) | (known[i] ?? 0);
    }
  }
  for (const event of events) {
    const bits = bitsOf(event);
    const last = bucketOf(endOf(event), scale) - low;
    for (let at = bucketOf(event.ts, scale) - low; at <= last; at++) {
      kinds[at] = (kinds[at] ?? 0) | bits;
    }
  }
  return { scale, first: low, cells: cellsOf(kinds) };
}

/** Returns the buckets of a map. */
export function minimapBuckets({ scale, first, cells }: Minimap): MinimapBuckets {
  const widthMs = 2 ** scale;
  return { startMs: first * widthMs, widthMs, kinds: kindsOf(cells) };
}

const EMPTY = new Uint8Array();

function bucketOf(ms: number, scale: number): number {
  return Math.floor(ms / 2 ** scale);
}

function endOf({ ts, facts }: MappedEvent): number {
  return ts + (facts.latencyMs ?? 0);
}

function bitsOf({ type, facts: { error } }: MappedEvent): number {
  const kind = type === "llm_call"
    ? KIND_BITS.model
    : type === "tool_call"
    ? KIND_BITS.tool
    : KIND_BITS.other;
  return error ? kind | KIND_BITS.failed : kind;
}

function cellsOf(kinds: Uint8Array): string {
  let cells = "";
  for (let from = 0; from < kinds.length;) {
    let to = from + 1;
    while (to < kinds.length && kinds[to] === kinds[from]) to++;
    cells += String.fromCharCode(LETTER_A + (kinds[from] ?? 0));
    if (to - from > 1) cells += to - from;
    from = to;
  }
  return cells;
}

function kindsOf(cells: string): Uint8Array {
  const kinds = new Uint8Array(BUCKETS_MAX);
  let count = 0;
  for (let at = 0; at < cells.length;) {
    const kind = cells.charCodeAt(at++) - LETTER_A;
    let times = 0;
    for (; at < cells.length && cells.charCodeAt(at) < LETTER_A; at++) {
      times = times * 10 + cells.charCodeAt(at) - 48;
    }
    times ||= 1;
    kinds.fill(kind, count, count + times);
    count += times;
  }
  return kinds.subarray(0, count);
}
