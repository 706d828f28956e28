/**
 * Attempts of an operation: repeated after a conflict, and given up at a deadline.
 *
 * @module
 */
import type { Deadlines } from "../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";

/** Maximum attempts of a write that keeps conflicting; writers in one process queue per key. */
export const COMMIT_ATTEMPTS_MAX = 20;

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

/**
 * Repeats an attempt like {@link untilCommitted}, but begins none after the deadline: the caller has
 * been answered by then, and its next change may be stored already.
 *
 * @param locked runs the attempts under a lock; the wait for it counts
 * @throws {StorageUnavailable} when every attempt conflicted, or the deadline has passed
 */
export async function untilCommittedInTime<T>(
  task: string,
  deadlines: Deadlines,
  attempt: () => Promise<T | typeof LOST>,
  locked: (work: () => Promise<T>) => Promise<T> = (work) => work(),
): Promise<T> {
  let isLate = false;
  const wait = deadlines.watch(() => isLate = true);
  const attemptInTime = () => {
    if (isLate) throw new StorageUnavailable(`Cannot ${task}: the store took too long`);
    return attempt();
  };
  try {
    return await locked(() => untilCommitted(task, attemptInTime));
  } finally {
    deadlines.done(wait);
  }
}

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
