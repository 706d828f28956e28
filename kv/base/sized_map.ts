/**
 * A map that knows how many bytes it holds.
 *
 * @module
 */
import { BYTES_PER_CHAR, ENTRY_BYTES } from "./byte_cache.ts";

/** Rows by name, counted in bytes as they come and go. */
export class SizedMap<Value> extends Map<string, Value> {
  readonly #bytesOf: (value: Value) => number;
  #bytes = 0;

  /**
   * Creates an empty map.
   *
   * @param bytesOf bytes of a value; names are counted by themselves
   */
  constructor(bytesOf: (value: Value) => number) {
    super();
    this.#bytesOf = bytesOf;
  }

  /** Bytes of all names and values. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Puts a value at a name. */
  override set(name: string, value: Value): this {
    const known = this.get(name);
    if (known !== undefined) this.#bytes -= this.#bytesOf(known);
    else this.#bytes += ENTRY_BYTES + BYTES_PER_CHAR * name.length;
    this.#bytes += this.#bytesOf(value);
    return super.set(name, value);
  }
}
