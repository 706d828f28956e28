/**
 * Time and identifiers of incidents and their messages.
 *
 * @module
 */
import type { Environment } from "../core/environment.ts";
import { type Region, uuid7Hex } from "../core/ids.ts";

/** Instant, and new identifiers. */
export interface Stamp {
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Generates an identifier with a prefix. */
  readonly newId: (prefix: "inc" | "whd") => string;
}

/** Largest number that the 12 bits of an identifier after its time can count to. */
const COUNTED_MAX = 0xfff;

/**
 * Creates a source of stamps, one for each decision.
 *
 * A decision that lacked rows is made again: {@link Stamp.newId} of each `begin` returns the same
 * identifiers.
 */
export function createStamps(
  region: Region,
  { now, random }: Pick<Environment, "now" | "random">,
): StampSource {
  return () => {
    const nowMs = now();
    const parts: string[] = [];
    const newPart = (n: number) => {
      const bytes = random(10);
      // Incidents of one commit are listed by their ids, in the order in which they opened.
      new DataView(bytes.buffer, bytes.byteOffset).setUint16(0, Math.min(n, COUNTED_MAX));
      return uuid7Hex(nowMs, bytes);
    };
    const begin = (): Stamp => {
      let n = 0;
      const nextPart = () => {
        const part = parts[n] ??= newPart(n);
        n++;
        return part;
      };
      return { nowMs, newId: (prefix) => `${prefix}_${region}_${nextPart()}` };
    };
    return { nowMs, begin };
  };
}

/** Returns the time of a decision and what begins it. */
export type StampSource = () => { readonly nowMs: number; readonly begin: () => Stamp };
