/**
 * Caches openings of runs that a heartbeat opened recently.
 *
 * @module
 */
import type { Memory } from "../../domain/core/memory.ts";
import type { Opening } from "../../domain/runs/run.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../base/byte_cache.ts";

/** Milliseconds for which such a run certainly exists; retention deletes none before a week. */
const BEGUN_MS_MAX = 86_400_000;

/** Bytes of an opening without its strings, and the maximum of a metadata label. */
const OPENING_BYTES = 1_000, LABEL_BYTES = 400;

/** Openings of such runs, so that the heartbeat that closes one needs no read. */
export class OpenHeartbeats {
  readonly #openings: ByteCache<string, Opening>;

  constructor(memory: Memory) {
    this.#openings = createByteCache<string, Opening>({
      memory,
      share: "openings",
      bytesOf: (opening, name) => BYTES_PER_CHAR * name.length + bytesOf(opening),
    });
  }

  /** Returns the opening of a run; undefined if it may be outdated or unknown. */
  get(name: string, nowMs: number): Opening | undefined {
    const opening = this.#openings.size === 0 ? undefined : this.#openings.get(name);
    // An old run may be deleted without a tombstone that a check would find.
    const isSure = opening !== undefined && nowMs - opening.receivedAt < BEGUN_MS_MAX;
    return isSure ? opening : undefined;
  }

  /** Removes a replaced opening. */
  delete(name: string): void {
    this.#openings.delete(name);
  }

  /**
   * Caches an opening. Openings with an output are skipped: they are rare, and the output is a
   * slice of the request body. All other strings are copies.
   */
  add(name: string, opening: Opening): void {
    if (opening.output === undefined) this.#openings.set(name, opening);
  }
}

/** Returns an upper bound of an opening's bytes in memory. */
function bytesOf(opening: Opening): number {
  const { agent, customerId, feature, goal, note, metadata, reported, ignored = [] } = opening;
  const own = [agent, customerId, feature, goal, note, reported?.model, reported?.provider];
  const texts = [...own, ...ignored];
  const chars = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return OPENING_BYTES + BYTES_PER_CHAR * chars + LABEL_BYTES * (metadata?.length ?? 0);
}
