/**
 * Names that the store generates.
 *
 * @module
 */
import { monotonicFactory } from "@std/ulid";
import type { TeamId } from "../../domain/core/ids.ts";

/** Returns a new name, sortable by creation time. */
export const newRowName: () => string = monotonicFactory();

/** Crockford's base 32: it has no letters that are easily confused with digits. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * Returns a new team id: 26 digits of 5 random bits each. It contains no time and no sequence, so
 * that a team's id cannot be guessed from another's.
 */
export function newTeamId(): TeamId {
  const bytes = crypto.getRandomValues(new Uint8Array(26));
  return Array.from(bytes, (byte) => DIGITS[byte & 31]).join("") as TeamId;
}
