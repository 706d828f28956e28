/**
 * A cache bounded in bytes by its share of the memory budget.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { Memory, MemoryShare } from "../../domain/core/memory.ts";

/** Bytes of a cache entry in addition to its key and value: list links and map slots. */
export const ENTRY_BYTES = 120;

/** Bytes of a character in a string that may not be Latin-1. */
export const BYTES_PER_CHAR = 2;

/** Dependencies and limits of a {@link ByteCache}. */
export interface ByteCacheOptions<Key, Value> {
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

/** Eviction rules in addition to size. */
export interface EntryLife<Value> {
  /** Milliseconds after which an entry is stale. */
  readonly ttl?: number;
  /** Milliseconds for which a clock reading is reused. */
  readonly ttlResolution?: number;
  /** Keeps a stale entry until it is replaced, for {@link ByteCache.peekStale}. */
  readonly noDeleteOnStaleGet?: boolean;
  /** Called with each value that leaves the cache. */
  readonly dispose?: (value: Value) => void;
}

/** A least-recently-used cache. Values must not slice a request body: a slice retains the body. */
// deno-lint-ignore ban-types -- the library's own constraint on keys and values
export class ByteCache<Key extends {}, Value extends {}> {
  readonly #entries: LRUCache<Key, Value>;

  /** Creates an empty cache and registers it with the budget. */
  constructor(
    { memory, share, part = 1, bytesOf, entryBytesMax }: ByteCacheOptions<Key, Value>,
    life: EntryLife<Value> = {},
  ) {
    const maxSize = Math.max(1, Math.floor(memory.bytesMax(share) * part));
    this.#entries = new LRUCache({
      ...life,
      maxSize,
      maxEntrySize: entryBytesMax ?? Math.ceil(maxSize / 4),
      sizeCalculation: (value, key) => ENTRY_BYTES + Math.ceil(bytesOf(value, key)),
    } as LRUCache.Options<Key, Value, unknown>);
    memory.register(share, () => this.#entries.calculatedSize);
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** Maximum bytes of one entry. */
  get entryBytesMax(): number {
    return this.#entries.maxEntrySize;
  }

  /** Returns a value and marks it as used. */
  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  /** Returns a value without marking it as used. */
  peek(key: Key): Value | undefined {
    return this.#entries.peek(key);
  }

  /** Returns a value even if it is stale. */
  peekStale(key: Key): Value | undefined {
    return this.#entries.peek(key, { allowStale: true });
  }

  /** Returns whether the cache has a value that is not stale. */
  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  /** Stores a value, unless it is too large. */
  set(key: Key, value: Value): void {
    this.#entries.set(key, value);
  }

  /** Removes a value. */
  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** Removes all values. */
  clear(): void {
    this.#entries.clear();
  }

  /** Iterates over keys and values, most recently used first. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  /** Iterates over values, most recently used first. */
  values(): IterableIterator<Value> {
    return this.#entries.values();
  }
}
