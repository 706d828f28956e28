/**
 * A cache bounded in bytes by its share of the memory budget.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { Memory, MemoryShare } from "../../domain/core/memory.ts";

/** Bytes of a cache entry besides its key and value: list links and map slots. */
export const ENTRY_BYTES = 120;

/** Bytes of a character in a string that may not be Latin-1. */
export const BYTES_PER_CHAR = 2;

/** What a cache is made from. */
export interface ByteCacheOptions<Key, Value> {
  /** The budget of the process. */
  readonly memory: Memory;
  /** Whose share of it the cache has. */
  readonly share: MemoryShare;
  /** Part of the share; 1 when absent. For several caches in one share. */
  readonly part?: number;
  /** Bytes of an entry's key and value. */
  readonly bytesOf: (value: Value, key: Key) => number;
  /** Most bytes of one entry; a larger one is not kept. A quarter of the cache when absent. */
  readonly entryBytesMax?: number;
}

/** When entries go besides for want of room. */
export interface EntryLife<Value> {
  /** Milliseconds after which an entry is stale, and how exact that is. */
  readonly ttl?: number;
  /** Milliseconds for which the clock is not read again. */
  readonly ttlResolution?: number;
  /** Whether a stale entry stays until it is replaced, for {@link ByteCache.peekStale}. */
  readonly noDeleteOnStaleGet?: boolean;
  /** Is given each value that leaves the cache. */
  readonly dispose?: (value: Value) => void;
}

/** A least-recently-used cache. Values must hold no slice of a request body: a slice keeps the body. */
// deno-lint-ignore ban-types -- what the library asks of keys and values
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

  /** Entries held. */
  get size(): number {
    return this.#entries.size;
  }

  /** Most bytes of one entry. */
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

  /** Returns a value also when it is stale. */
  peekStale(key: Key): Value | undefined {
    return this.#entries.peek(key, { allowStale: true });
  }

  /** Returns whether a value is held that is not stale. */
  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  /** Holds a value, unless it is too large. */
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

  /** Iterates over keys and values, the one used last first. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  /** Iterates over values, the one used last first. */
  values(): IterableIterator<Value> {
    return this.#entries.values();
  }
}
