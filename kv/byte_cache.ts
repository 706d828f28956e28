/**
 * A cache bounded in bytes by its share of the memory budget.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { Memory, MemoryShare } from "../domain/memory.ts";

/** Bytes of a cache entry besides its key and value: list links and map slots. */
export const ENTRY_BYTES = 120;

/** Bytes of a character in a string that may not be Latin-1. */
export const BYTES_PER_CHAR = 2;

/** What a cache is made from. */
export interface ByteCacheOptions<Key, Value> {
  /** The budget. */
  readonly memory: Memory;
  /** Whose bytes they are. */
  readonly share: MemoryShare;
  /** Part of the share; 1 when absent. For several caches in one share. */
  readonly part?: number;
  /** Bytes of an entry's key and value. */
  readonly bytesOf: (value: Value, key: Key) => number;
  /** Most bytes of one entry; a larger one is not kept. A quarter of the cache when absent. */
  readonly entryBytesMax?: number;
}

/** A least-recently-used cache. Values must hold no slice of a request body: a slice keeps the body. */
// deno-lint-ignore ban-types -- what the library asks of keys and values
export class ByteCache<Key extends {}, Value extends {}> extends LRUCache<Key, Value> {
  /** Creates an empty cache and registers it with the budget. */
  constructor(
    { memory, share, part = 1, bytesOf, entryBytesMax }: ByteCacheOptions<Key, Value>,
    options: Pick<
      LRUCache.Options<Key, Value, unknown>,
      "ttl" | "ttlResolution" | "noDeleteOnStaleGet" | "dispose"
    > = {},
  ) {
    const maxSize = Math.max(1, Math.floor(memory.bytesMax(share) * part));
    super({
      ...options,
      maxSize,
      maxEntrySize: entryBytesMax ?? Math.ceil(maxSize / 4),
      sizeCalculation: (value, key) => ENTRY_BYTES + Math.ceil(bytesOf(value, key)),
    } as LRUCache.Options<Key, Value, unknown>);
    memory.register(share, () => this.calculatedSize);
  }
}
