/**
 * Time and identifiers of incidents and their messages.
 *
 * @module
 */
import type { Making } from "../../domain/alerts/notify.ts";
import type { Environment } from "../../domain/core/environment.ts";
import { type Region, uuid7Hex } from "../../domain/core/ids.ts";

/** Largest number that the 12 bits of an identifier after its time can count to. */
const COUNTED_MAX = 0xfff;

/** Creates a source of time and identifiers. */
export function createMaking(
  region: Region,
  { now, random }: Pick<Environment, "now" | "random">,
): () => Making {
  return () => {
    const nowMs = now();
    let made = 0;
    return {
      nowMs,
      newId(prefix) {
        const bytes = random(10);
        // Incidents of one commit are listed by their ids, in the order in which they opened.
        new DataView(bytes.buffer, bytes.byteOffset).setUint16(0, Math.min(made++, COUNTED_MAX));
        return `${prefix}_${region}_${uuid7Hex(nowMs, bytes)}`;
      },
    };
  };
}
