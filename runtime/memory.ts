/**
 * The memory budget: maximum bytes of each cache, queue and set of bodies or responses.
 *
 * `RUNLEDGER_MEMORY_MB` is the target resident size of the process. The shares below total at most
 * half of it; the other half is for the runtime, the code and work in progress. Caches that keep
 * within their share are here as well.
 *
 * @module
 */
import { LRUCache } from "lru-cache";

/** Target resident size of the process in megabytes: default and allowed range. */
export const MEMORY_MB = { default: 600, min: 256, max: 65_536 } as const;

const BYTES_PER_MB = 1_000_000;

/** Shares of the target by holder, in thousandths. They total at most 500. */
export const MEMORY_SHARES = {
  /** Request bodies, partial or complete, that are not parsed yet. */
  bodies: 70,
  /** Responses that clients have not read yet. */
  answers: 60,
  /** Writes waiting for their commit. */
  writes: 60,
  /** Event ids of live runs. */
  ledgers: 50,
  /** Heads of runs that wait for the worker, and of open runs. */
  heads: 50,
  /** Ids of recently opened or closed runs. */
  recent_ids: 20,
  /** Roll-ups of days without changes. */
  rollup_days: 25,
  /** Rows of teams whose runs are being aggregated, such as roll-ups and alert instances. */
  team_rows: 30,
  /** Rate cards and the model names looked up on them. */
  rate_cards: 25,
  /** Recently verified credentials and their last use. */
  credentials: 10,
  /** Rules, channels, silences and compiled checks of teams whose runs are being aggregated. */
  configs: 10,
  /** Budgets and pauses, spend that they judge, and labels of runs that are acknowledged. */
  guard: 10,
  /** Compiled patterns, parsed cron lines, and monitors that pings ask for. */
  memos: 10,
  /** Active agents. */
  agents: 7,
  /** Versions up to which runs are projected. */
  projected: 8,
  /** Request-rate and byte-rate buckets of teams. */
  rate_buckets: 20,
  /** Request metrics of each team. */
  metrics: 10,
  /** Counted refusals that are not written yet. */
  refusals: 5,
  /** Text buffered for clients of live streams. */
  live: 10,
  /** Log lines waiting to be written. */
  log: 5,
  /** Everything else with a bounded count: sessions, failed addresses, job names. */
  other: 5,
} as const;

/** Name of a share. */
export type MemoryShare = keyof typeof MEMORY_SHARES;

/** Current and maximum bytes of one share. */
export interface MemoryUse {
  readonly share: MemoryShare;
  /** Bytes held now. */
  readonly bytes: number;
  /** Maximum bytes. */
  readonly bytesMax: number;
}

/** Memory budget of one process, with its registered holders. */
export class Memory {
  /** Target resident size of the process in bytes. */
  readonly #targetBytes: number;
  readonly #holders: { readonly share: MemoryShare; readonly bytes: () => number }[] = [];

  /** Creates a budget without holders. */
  constructor(targetMb: number = MEMORY_MB.default) {
    this.#targetBytes = targetMb * BYTES_PER_MB;
  }

  /** Returns the maximum bytes of a share. */
  bytesMax(share: MemoryShare): number {
    return Math.floor(this.#targetBytes * MEMORY_SHARES[share] / 1_000);
  }

  /** Registers a holder, so that metrics and tests see its usage. */
  register(share: MemoryShare, bytes: () => number): void {
    this.#holders.push({ share, bytes });
  }

  /** Returns the use of every registered share, by name. */
  uses(): MemoryUse[] {
    const bytesByShare = new Map<MemoryShare, number>();
    for (const { share, bytes } of this.#holders) {
      bytesByShare.set(share, (bytesByShare.get(share) ?? 0) + bytes());
    }
    return Array.from(bytesByShare, ([share, bytes]) => ({
      share,
      bytes,
      bytesMax: this.bytesMax(share),
    }));
  }
}

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

/**
 * Creates a cache of at most so many entries. Its lists grow with them: with a maximum of its own
 * the library would allocate them at once, which takes most of the time of opening a store.
 */
// deno-lint-ignore ban-types -- the library's own constraint on keys and values
export function createEntryCache<Key extends {}, Value extends {}>(
  entriesMax: number,
): ByteCache<Key, Value> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
}

/** A function that keeps its latest results. */
export interface Memo<Key, Value> {
  (key: Key): Value;
  /** Returns whether the result for a key is kept. */
  has(key: Key): boolean;
}

interface MemoOptions<Key, Value> {
  /** Memory budget of the process. */
  readonly memory: Memory;
  /** Fraction of the share `memos`. */
  readonly part: number;
  /** Name of a key; keys with one name have one result. */
  readonly nameOf: (key: Key) => string;
  /** Bytes of a result; names are counted separately. */
  readonly bytesOf: (value: Value) => number;
}

/**
 * Creates a function that keeps its latest results. All teams share them, so they must follow from
 * their key alone. An error is thrown and not kept.
 */
// deno-lint-ignore ban-types -- the cache's constraint on values
export function memo<Key, Value extends {}>(
  make: (key: Key) => Value,
  { memory, part, nameOf, bytesOf }: MemoOptions<Key, Value>,
): Memo<Key, Value> {
  const kept = createByteCache<string, Value>({
    memory,
    share: "memos",
    part,
    bytesOf: (value, name) => bytesOf(value) + BYTES_PER_CHAR * name.length,
  });
  const get = (key: Key): Value => {
    const name = nameOf(key);
    const known = kept.get(name);
    if (known !== undefined) return known;
    const made = make(key);
    kept.set(name, made);
    return made;
  };
  return Object.assign(get, { has: (key: Key) => kept.has(nameOf(key)) });
}
