/**
 * What the store's back ends accept, with a margin where sizes are estimates.
 *
 * @module
 */

/** Bytes of one stored piece. The back end takes 65,536 bytes serialised. */
export const CHUNK_BYTES_MAX = 60_000;

/** Bytes of pieces one write may carry; larger values are staged. See {@link BackEnd}. */
export const COMMIT_BYTES_MAX = 600_000;

/** Keys one `getMany` takes. */
export const GET_MANY_KEYS_MAX = 10;

/** Tries of a write whose check is lost each time; within a process writers of a key queue up. */
export const COMMIT_ATTEMPTS_MAX = 20;

/** Tries of a commit that found the file locked, and the pause before the next one. */
export const LOCKED_RETRY = { attemptsMax: 20, pauseMs: 25 } as const;

/** What one atomic operation may hold. */
export interface BackEnd {
  /** Checks. */
  readonly checksMax: number;
  /** Sets, deletes and sums together. */
  readonly mutationsMax: number;
  /** Bytes of keys and values. */
  readonly bytesMax: number;
  /** Bytes of keys alone. */
  readonly keyBytesMax: number;
}

/**
 * The back ends by name. The numbers are the runtime's own (`ext/kv`: 100 checks, 1,000 mutations,
 * 819,200 bytes, 81,920 bytes of keys) and those of self-hosted `denokv` (10 checks,
 * `proto/limits.rs`), less a margin for sizes that are estimates.
 */
export const BACK_ENDS = {
  embedded: { checksMax: 100, mutationsMax: 1_000, bytesMax: 780_000, keyBytesMax: 76_000 },
  remote: { checksMax: 10, mutationsMax: 1_000, bytesMax: 780_000, keyBytesMax: 76_000 },
} as const satisfies Record<string, BackEnd>;

/** Commits under way at once: the second is prepared while the first is on its way to the disk. */
export const COMMITS_IN_FLIGHT_MAX = 2;

/** Writes that may wait, in all and of one team; beyond is `overloaded`. Memory bounds their bytes. */
export const QUEUE = { writesMax: 20_000, teamWritesMax: 10_000 } as const;

/** Part of the bytes of waiting writes that one team may have. */
export const QUEUE_TEAM_PART = 1 / 2;
