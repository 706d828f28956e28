/**
 * Time and identifiers of incidents and their messages.
 *
 * @module
 */
import type { Making } from "../../domain/alerts/notify.ts";
import type { Environment } from "../../domain/core/environment.ts";
import { type Region, uuid7Hex } from "../../domain/core/ids.ts";

/** Creates a source of time and identifiers. */
export function createMaking(
  region: Region,
  { now, random }: Pick<Environment, "now" | "random">,
): () => Making {
  return () => {
    const nowMs = now();
    return { nowMs, newId: (prefix) => `${prefix}_${region}_${uuid7Hex(nowMs, random(10))}` };
  };
}
