/**
 * Names of things that the store mints.
 *
 * @module
 */
import { monotonicFactory } from "@std/ulid";
import type { TeamId } from "../../domain/core/ids.ts";

/** A new name, sortable by the time it was made. */
export const newRowName: () => string = monotonicFactory();

/** Crockford's base 32: no letter that is taken for a digit. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * A name for a team: 26 digits of 5 random bits each. It has no time in it and follows from no other, so
 * that who knows one team's cannot guess another's.
 */
export function newTeamId(): TeamId {
  const bytes = crypto.getRandomValues(new Uint8Array(26));
  return Array.from(bytes, (byte) => DIGITS[byte & 31]).join("") as TeamId;
}
