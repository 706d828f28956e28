/**
 * Names of things that the store mints.
 *
 * @module
 */
import { monotonicFactory } from "@std/ulid";

/** A new name, sortable by the time it was made. */
export const newName: () => string = monotonicFactory();
