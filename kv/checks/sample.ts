/**
 * Samples of runs.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { PlaceInSample } from "../../domain/checks/judge.ts";

/** Returns the place of a run in the samples of a check. */
export const placeInSample: PlaceInSample = (slug, run) => {
  const hash = createHash("sha256").update(`${slug}\n${run}`).digest();
  return Number(hash.readBigUInt64BE()) / 2 ** 64;
};
