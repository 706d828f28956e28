/**
 * Limits of the store: sizes that its back ends accept, with a margin where they are estimates, and
 * the deadline and the attempts of an operation.
 *
 * @module
 */
import type { Deadlines } from "../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";

/** Maximum bytes of one stored chunk. The back end accepts 65,536 serialized bytes. */
export const CHUNK_BYTES_MAX = 60_000;

/** Maximum bytes of chunks in one write; larger values are staged. See {@link BackEnd}. */
export const COMMIT_BYTES_MAX = 600_000;

/** Maximum keys of one `getMany`. */
export const GET_MANY_KEYS_MAX = 10;

/** Maximum attempts of a write that keeps conflicting; writers in one process queue per key. */
export const COMMIT_ATTEMPTS_MAX = 20;

/** Maximum attempts of a commit while the file is locked, and the pause between them. */
export const LOCKED_RETRY = { attemptsMax: 20, pauseMs: 25 } as const;

/** Size of a write: the number of its checks and of its sets, deletes and sums, and its bytes. */
export interface WriteSize {
  readonly checks: number;
  readonly mutations: number;
  /** Bytes of keys and values. */
  readonly bytes: number;
  /** Bytes of keys alone. */
  readonly keyBytes: number;
}

/** Maximum size of one atomic operation, and how its store answers. */
export interface BackEnd extends WriteSize {
  /** True if its client may send a commit twice; then each commit has a receipt. */
  readonly mayRepeat: boolean;
  /**
   * Concurrent commits that begin at once; a further one waits for more writes. A file stores one
   * commit after the other, so one that begins early only has fewer writes. Elsewhere one more is
   * prepared while the first is under way.
   */
  readonly atOnce: number;
  /** Maximum concurrent commits. */
  readonly inFlightMax: number;
}

/**
 * Back ends by name. The numbers are the limits of the runtime (`ext/kv`: 100 checks, 1,000
 * mutations, 819,200 bytes, 81,920 bytes of keys) and of self-hosted `denokv` (10 checks,
 * `proto/limits.rs`), less a margin for estimated sizes, and less the check of a receipt.
 */
export const BACK_ENDS = {
  embedded: {
    checks: 100,
    mutations: 1_000,
    bytes: 780_000,
    keyBytes: 76_000,
    mayRepeat: false,
    atOnce: 1,
    inFlightMax: 2,
  },
  remote: {
    checks: 9,
    mutations: 999,
    bytes: 779_000,
    keyBytes: 75_000,
    mayRepeat: true,
    atOnce: 2,
    inFlightMax: 16,
  },
} as const satisfies Record<string, BackEnd>;

/**
 * Wait of a write for others before one more commit begins: at most a part of a commit's usual time,
 * and milliseconds. Far from a store the wait only has to spread the commits over that time.
 */
export const COMMIT_WAIT = { part: 1 / 2, ms: 5 } as const;

/** Maximum queued writes, overall and per team; more are refused as `overloaded`. */
export const QUEUE = { writesMax: 20_000, teamWritesMax: 10_000 } as const;

/** Maximum fraction of the queue's bytes that one team may use. */
export const QUEUE_TEAM_PART = 1 / 2;

/** Splits a list into groups of `length` items; the last one may be shorter. */
export function groupsOf<Item>(items: readonly Item[], length: number): (readonly Item[])[] {
  const groups: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += length) groups.push(items.slice(at, at + length));
  return groups;
}

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
