/**
 * Runs that a heartbeat began a short while ago.
 *
 * @module
 */
import { ownText } from "../../domain/input/text.ts";
import type { Memory } from "../../domain/memory.ts";
import type { Opening } from "../../domain/run/run.ts";
import { ByteCache, BYTES_PER_CHAR } from "../byte_cache.ts";

/** Milliseconds for which such a run is surely there; by age none goes before a week. */
const BEGUN_MS_MAX = 86_400_000;

/** Bytes of a name or a number in an object, and of an object without them; from above. */
const FIELD_BYTES = 24, OBJECT_BYTES = 64;

/** Openings of such runs, so that the heartbeat that ends one need not read. */
export class BegunRuns {
  readonly #openings: ByteCache<string, Opening>;

  /** Creates a memory of no runs. */
  constructor(memory: Memory) {
    this.#openings = new ByteCache<string, Opening>({
      memory,
      share: "openings",
      bytesOf: (opening, name) => bytesOf(name) + bytesOf(opening),
    });
  }

  /** Returns the opening of a run, or undefined where it is not known for sure. */
  get(name: string, nowMs: number): Opening | undefined {
    const opening = this.#openings.size === 0 ? undefined : this.#openings.get(name);
    // One of long ago may be gone by now, with nothing left that a check would find.
    const isSure = opening !== undefined && nowMs - opening.receivedAt < BEGUN_MS_MAX;
    return isSure ? opening : undefined;
  }

  /** Remembers an opening. One with an output is left out: few have any, and it may be large. */
  add(name: string, opening: Opening): void {
    if (opening.output === undefined) this.#openings.set(ownText(name), ownCopy(opening));
  }
}

/** Copies a value with all its texts. */
function ownCopy<Value>(value: Value): Value {
  if (typeof value === "string") return ownText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ownCopy) as Value;
  const copy: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(value)) copy[name] = ownCopy(part);
  return copy as Value;
}

/** Bytes of a value in memory, from above. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return FIELD_BYTES + BYTES_PER_CHAR * value.length;
  if (typeof value !== "object" || value === null) return FIELD_BYTES;
  let bytes = OBJECT_BYTES;
  for (const part of Object.values(value)) bytes += FIELD_BYTES + bytesOf(part);
  return bytes;
}
