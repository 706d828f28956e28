/**
 * Looks up secrets that are not cached: bounded in number, fair by origin, and with a cache of
 * recently refused secrets.
 *
 * Only secrets not known to work are looked up here, and none is refused without a lookup: a
 * working secret is served whatever other clients of its address send.
 *
 * @module
 */
import type { SlotLimits } from "../../runtime/fair_slots.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/byte_cache.ts";
import { outsideScope } from "../base/read_scope.ts";
import { Reads } from "../base/reads.ts";
import type { Store } from "../store.ts";

/**
 * Cache lifetime of a refusal: half of the time in which another process must notice a change. A
 * new secret is random, so it was never refused before its creation.
 */
const REFUSED_MS = 5_000;

/** Fraction of the memory share for one set of refused secrets: some 1,500 of them. */
const REFUSED_PART = 1 / 8;

/**
 * Limits of concurrent lookups. Waiting lookups hold no body and wait at most until the deadline.
 */
const LOOK_UPS: SlotLimits = { all: 32, team: 4, waiting: 8_000, teamWaiting: 2_000 };

/** Looks up one type of secret. */
export class SecretLookups {
  readonly #reads: Reads;
  /** Refused secrets by hash, because memory may be dumped. */
  readonly #refused: ByteCache<string, true>;
  /** Incremented when refusals are cleared, so that an earlier lookup is not cached. */
  #forgotten = 0;

  constructor({ deadlines, memory }: Pick<Store, "deadlines" | "memory">) {
    this.#reads = new Reads(deadlines, LOOK_UPS);
    this.#refused = createByteCache({
      memory,
      share: "other",
      part: REFUSED_PART,
      bytesOf: (_, hash) => hash.length * BYTES_PER_CHAR,
      ttl: REFUSED_MS,
    });
  }

  /**
   * Looks up a secret; returns null without a read if it was refused recently.
   *
   * @param hash hash of the secret
   * @param line fairness key: an address or a team
   * @throws {StorageUnavailable} when the store fails or takes too long
   * @throws {Overloaded} when too many lookups wait
   */
  async find<T>(
    hash: Uint8Array,
    line: string,
    lookUp: () => Promise<T | null>,
  ): Promise<T | null> {
    const name = hash.toHex();
    if (this.#refused.has(name)) return null;
    // Not counted as a read of the request.
    return await outsideScope(() =>
      this.#reads.run(line, async () => {
        // Another request may have been refused with the same secret meanwhile.
        if (this.#refused.has(name)) return null;
        const forgottenBefore = this.#forgotten;
        const result = await lookUp();
        if (result === null && forgottenBefore === this.#forgotten) this.#refused.set(name, true);
        return result;
      })
    );
  }

  /** Clears all cached refusals. */
  forget(): void {
    this.#forgotten++;
    this.#refused.clear();
  }
}
