/**
 * A map that tracks its size in bytes.
 *
 * @module
 */
import { BYTES_PER_CHAR, ENTRY_BYTES } from "./byte_cache.ts";

/** A map by name that tracks the bytes of its entries. */
export class SizedMap<Value> extends Map<string, Value> {
  readonly #bytesOf: (value: Value) => number;
  #bytes = 0;

  /**
   * Creates an empty map.
   *
   * @param bytesOf bytes of a value; names are counted separately
   */
  constructor(bytesOf: (value: Value) => number) {
    super();
    this.#bytesOf = bytesOf;
  }

  /** Bytes of all names and values. */
  get bytes(): number {
    return this.#bytes;
  }

  override set(name: string, value: Value): this {
    const previous = this.get(name);
    if (previous !== undefined) this.#bytes -= this.#bytesOf(previous);
    else this.#bytes += ENTRY_BYTES + BYTES_PER_CHAR * name.length;
    this.#bytes += this.#bytesOf(value);
    return super.set(name, value);
  }
}
