/**
 * Functions that keep their latest results, bounded in bytes by a share of the memory budget.
 *
 * @module
 */
import { BYTES_PER_CHAR, createByteCache } from "./byte_cache.ts";
import type { Memory } from "./memory.ts";

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
