/**
 * Retries a read-decide-commit cycle while it conflicts with other writers.
 *
 * @module
 */
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { COMMIT_ATTEMPTS_MAX } from "./limits.ts";

/** Returned by an attempt whose commit conflicted with another write. */
export const LOST = Symbol("lost");

/**
 * Repeats an attempt until its commit does not conflict.
 *
 * @param task completes "Cannot …" in the error
 * @throws {StorageUnavailable} when every attempt conflicted
 */
export async function untilCommitted<T>(
  task: string,
  attempt: () => Promise<T | typeof LOST>,
): Promise<T> {
  for (let attempts = 1; attempts <= COMMIT_ATTEMPTS_MAX; attempts++) {
    const outcome = await attempt();
    if (outcome !== LOST) return outcome;
  }
  throw new StorageUnavailable(`Cannot ${task}: every attempt conflicted with another write`);
}
