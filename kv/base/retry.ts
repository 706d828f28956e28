/**
 * Reading, deciding and committing again while another writer is faster.
 *
 * @module
 */
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { COMMIT_ATTEMPTS_MAX } from "./limits.ts";

/** What an attempt returns whose check was lost. */
export const LOST = Symbol("lost");

/**
 * Repeats an attempt until its commit is not lost to another writer.
 *
 * @param task completes "Cannot …" in the error
 * @throws {StorageUnavailable} when every attempt lost its check
 */
export async function untilCommitted<T>(
  task: string,
  attempt: () => Promise<T | typeof LOST>,
): Promise<T> {
  for (let attempts = 1; attempts <= COMMIT_ATTEMPTS_MAX; attempts++) {
    const outcome = await attempt();
    if (outcome !== LOST) return outcome;
  }
  throw new StorageUnavailable(`Cannot ${task}: other writers were always first`);
}
