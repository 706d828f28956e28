/**
 * Deadlines for store operations.
 *
 * @module
 */
import type { Deadlines } from "../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";

/**
 * Waits for the store until the deadline. The write may still happen; the client's retry then
 * finds it.
 *
 * @throws {StorageUnavailable} when the deadline passes first
 */
export function inTime<T>(work: Promise<T>, deadlines: Deadlines): Promise<T> {
  return deadlines.within(work, () => {
    throw new StorageUnavailable("The store did not answer in time");
  });
}
