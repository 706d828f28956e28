/**
 * Limits of the store: sizes that its back ends accept, with a margin where they are estimates.
 *
 * @module
 */

/** Maximum bytes of one stored chunk. The back end accepts 65,536 serialized bytes. */
export const CHUNK_BYTES_MAX = 60_000;

/** Maximum bytes of chunks in one write; larger values are staged. See {@link BackEnd}. */
export const COMMIT_BYTES_MAX = 600_000;

/** Maximum keys of one `getMany`. */
export const GET_MANY_KEYS_MAX = 10;

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
