/**
 * Looking for secrets that are not in memory: bounded in number, in turn by where they come from, and not
 * again for one that was refused a moment ago.
 *
 * Only what is not known to work ever comes here, and nothing is refused without having been looked for:
 * a secret that works is served whatever others behind its address send.
 *
 * @module
 */
import type { SlotLimits } from "../../domain/core/fair_slots.ts";
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";
import { outsideScope } from "../base/read_scope.ts";
import { Reads } from "../base/reads.ts";
import type { Store } from "../store.ts";

/**
 * Milliseconds for which a refused secret is refused from memory: half of what another process may take
 * to notice. A new secret is random, so it was never refused before it was made.
 */
const REFUSED_MS = 5_000;

/** Part of its share that one set of refused secrets takes: some 1,500 of them. */
const REFUSED_PART = 1 / 8;

/** Look-ups of a few keys at once. Those that wait hold no body; each waits for the deadline at most. */
const LOOK_UPS: SlotLimits = { all: 32, team: 4, waiting: 8_000, teamWaiting: 2_000 };

/** Look-ups of one kind of secret. */
export class SecretLookups {
  readonly #reads: Reads;
  /** By the hash, because memory may be dumped. */
  readonly #refused: ByteCache<string, true>;
  /** Grows when refusals are forgotten, so that one that began before is not remembered after it. */
  #forgotten = 0;

  /** Creates look-ups of which none has been refused. */
  constructor({ deadlines, memory }: Pick<Store, "deadlines" | "memory">) {
    this.#reads = new Reads(deadlines, LOOK_UPS);
    this.#refused = new ByteCache({
      memory,
      share: "other",
      part: REFUSED_PART,
      bytesOf: (_, hash) => hash.length * BYTES_PER_CHAR,
    }, { ttl: REFUSED_MS, ttlResolution: 0 });
  }

  /**
   * Looks for a secret; null when it was refused a moment ago, without a look.
   *
   * @param hash stands for the secret
   * @param line those of one line take turns with those of others: an address, or a team
   * @throws {StorageUnavailable} when the store fails or takes too long
   * @throws {Overloaded} when too many wait
   */
  async find<T>(hash: Uint8Array, line: string, look: () => Promise<T | null>): Promise<T | null> {
    const name = hash.toHex();
    if (this.#refused.has(name)) return null;
    // It is no read of the request, which pays for its reads.
    return await outsideScope(() =>
      this.#reads.run(line, async () => {
        // Another request with the same secret may have been first.
        if (this.#refused.has(name)) return null;
        const before = this.#forgotten;
        const found = await look();
        if (found === null && before === this.#forgotten) this.#refused.set(name, true);
        return found;
      })
    );
  }

  /** Forgets what was refused. */
  forget(): void {
    this.#forgotten++;
    this.#refused.clear();
  }
}
