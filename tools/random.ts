/** Reproducible random numbers: the same seed gives the same draws on every machine. */
import { createHash } from "node:crypto";

/** Random number generator (sfc32, by Chris Doty-Humphrey, in the public domain). */
export class Random {
  readonly #state: Uint32Array;

  /** @param seed any text */
  constructor(seed: string) {
    const hash = new Uint8Array(createHash("sha256").update(seed).digest());
    this.#state = new Uint32Array(hash.slice(0, 16).buffer);
    this.#state[3] = 1;
  }

  #draw(): number {
    const [a = 0, b = 0, c = 0, counter = 0] = this.#state;
    const drawn = (a + b + counter) >>> 0;
    this.#state.set([b ^ b >>> 9, c + (c << 3), (c << 21 | c >>> 11) + drawn, counter + 1]);
    return drawn;
  }

  /** Returns an integer from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.#draw() / 2 ** 32 * (max - min + 1));
  }

  /** Returns true with the given probability. */
  chance(probability: number): boolean {
    return this.#draw() / 2 ** 32 < probability;
  }

  /** Returns a random item of a list. */
  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.int(0, list.length - 1)] ?? list[0];
  }

  /** Returns random bytes. */
  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.int(0, 255));
  }
}
