/**
 * Caches bounded in bytes by their shares of the memory budget.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { Memory, MemoryShare } from "./memory.ts";

/** Bytes of a cache entry in addition to its key and value: list links and map slots. */
export const ENTRY_BYTES = 120;

/** Bytes of a character in a string that may not be Latin-1. */
export const BYTES_PER_CHAR = 2;

/** A least-recently-used cache. Values must not slice a request body: a slice retains the body. */
// deno-lint-ignore ban-types -- the library's own constraint on keys and values
export type ByteCache<Key extends {}, Value extends {}> = LRUCache<Key, Value, unknown>;

// deno-lint-ignore ban-types -- the library's own constraint on keys and values
interface ByteCacheOptions<Key extends {}, Value extends {}>
  extends
    Pick<LRUCache.OptionsBase<Key, Value, unknown>, "ttl" | "noDeleteOnStaleGet" | "dispose"> {
  /** Memory budget of the process. */
  readonly memory: Memory;
  /** Share of the budget that bounds the cache. */
  readonly share: MemoryShare;
  /** Fraction of the share, for several caches in one share; 1 when absent. */
  readonly part?: number;
  /** Bytes of an entry's key and value. */
  readonly bytesOf: (value: Value, key: Key) => number;
  /** Maximum bytes of one entry; larger ones are not cached. A quarter of the cache when absent. */
  readonly entryBytesMax?: number;
}

/** Creates an empty cache and registers it with the budget. */
// deno-lint-ignore ban-types -- the library's own constraint on keys and values
export function createByteCache<Key extends {}, Value extends {}>(
  { memory, share, part = 1, bytesOf, entryBytesMax, ...life }: ByteCacheOptions<Key, Value>,
): ByteCache<Key, Value> {
  const maxSize = Math.max(1, Math.floor(memory.bytesMax(share) * part));
  const cache = new LRUCache<Key, Value, unknown>({
    ...life,
    // Reads the clock at each use.
    ttlResolution: 0,
    maxSize,
    maxEntrySize: entryBytesMax ?? Math.ceil(maxSize / 4),
    sizeCalculation: (value, key) => ENTRY_BYTES + Math.ceil(bytesOf(value, key)),
  } as LRUCache.Options<Key, Value, unknown>);
  memory.register(share, () => cache.calculatedSize);
  return cache;
}
