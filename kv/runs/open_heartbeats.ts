/**
 * Runs that a heartbeat began a short while ago.
 *
 * @module
 */
import type { Memory } from "../../domain/core/memory.ts";
import type { Opening } from "../../domain/runs/run.ts";
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";

/** Milliseconds for which such a run is surely there; by age none goes before a week. */
const BEGUN_MS_MAX = 86_400_000;

/** Bytes of an opening without its texts, and of a label of metadata at most. */
const OPENING_BYTES = 1_000, LABEL_BYTES = 400;

/** Openings of such runs, so that the heartbeat that ends one need not read. */
export class OpenHeartbeats {
  readonly #openings: ByteCache<string, Opening>;

  /** Creates a memory of no runs. */
  constructor(memory: Memory) {
    this.#openings = new ByteCache<string, Opening>({
      memory,
      share: "openings",
      bytesOf: (opening, name) => BYTES_PER_CHAR * name.length + bytesOf(opening),
    });
  }

  /** Returns the opening of a run, or undefined where it is not known for sure. */
  get(name: string, nowMs: number): Opening | undefined {
    const opening = this.#openings.size === 0 ? undefined : this.#openings.get(name);
    // One of long ago may be gone by now, with nothing left that a check would find.
    const isSure = opening !== undefined && nowMs - opening.receivedAt < BEGUN_MS_MAX;
    return isSure ? opening : undefined;
  }

  /** Forgets the opening of a run, which another one replaced. */
  delete(name: string): void {
    this.#openings.delete(name);
  }

  /**
   * Remembers an opening. One with an output is left out: few have any, and it is a slice of the body.
   * All its other texts are their own.
   */
  add(name: string, opening: Opening): void {
    if (opening.output === undefined) this.#openings.set(name, opening);
  }
}

/** Bytes of an opening in memory, from above. */
function bytesOf({ agent, customerId, feature, goal, note, metadata, reported }: Opening): number {
  const texts = [agent, customerId, feature, goal, note, reported?.model, reported?.provider];
  const chars = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return OPENING_BYTES + BYTES_PER_CHAR * chars + LABEL_BYTES * (metadata?.length ?? 0);
}
