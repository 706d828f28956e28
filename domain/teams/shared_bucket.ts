/**
 * Token bucket of a team that uses several instances of the service, as seen by one instance.
 *
 * The tokens are stored in one row. Each instance may spend one slice of tokens ahead of the store,
 * without reading it. A lease in the background settles those tokens with the row. In addition,
 * each instance keeps a local bucket as an estimate of the row: full at first, refilled at the
 * team's rate, and lowered to the level of the row after each lease.
 *
 * **Guarantee.** Over any 10 s the instances spend at most `burst + sustained × 10` tokens and one
 * slice per instance: the row leases no more than its level and refill, and an instance never owes
 * more than a slice. The following can add to that:
 *
 * - Instance clocks that differ by `d` seconds add at most `sustained × d`. Row time never moves
 *   back: an instance that is behind adopts it and refills nothing. Row time never passes the
 *   fastest clock, so in 10 s it advances by at most `10 + d`. A clock that is ahead contributes
 *   its lead once, at its first lease, less {@link CLOCKS_APART_MS}, and at most a full bucket.
 * - A bucket that an instance evicted or lost in a restart starts with a new slice.
 * - The cost of requests beyond their token is debited afterwards, so it may exceed the slice. The
 *   instance spends nothing more until the row has covered it.
 * - While the store takes longer than {@link LATE_MS} or fails, each instance uses its local bucket
 *   only: a store in trouble must not refuse a team that stays within its rate.
 *
 * @module
 */
import { type Rate, TokenBucket, UNITS_PER_TOKEN } from "../core/token_bucket.ts";

/**
 * Milliseconds after which a lease counts as late and the store as slow. A slice and the lease before
 * it last that long for a team at its full rate.
 */
export const LATE_MS = 150;

/** Milliseconds that an instance uses its local bucket only, after the store was slow or failed. */
export const LOCAL_ONLY_MS = 5_000;

/** Backoff in milliseconds before the next lease after the store failed. */
export const FAILED_REST_MS = 1_000;

/**
 * Milliseconds of row time that an instance does not refill at its first lease, because they may be
 * the difference between two clocks.
 */
export const CLOCKS_APART_MS = 1_000;

/** Backoff range in milliseconds before the next lease after the row had too few tokens. */
const SHORT_REST_MS = { min: 25, max: 1_000 } as const;

/**
 * Fraction of the burst that an instance owes when it starts a lease. The rest of its slice serves
 * requests during the lease. Waiting longer would waste refills of a row that is still full.
 */
const LEASE_PART = 0.05;

/** Size of a slice: a fraction of the burst, or the refill of some seconds if that is more. */
const SLICE = { burstPart: 0.1, seconds: 0.2 } as const;

/** Returns the tokens that an instance may spend ahead of the store; at least 1. */
export function sliceOf({ sustained, burst }: Rate): number {
  return Math.max(1, burst * SLICE.burstPart, sustained * SLICE.seconds);
}

/** Stored bucket. */
export interface BucketRow {
  /** Level in units of a token. */
  readonly units: number;
  /** Row time of the level, in unix microseconds of the fastest instance's clock. */
  readonly atUs: number;
}

/** Result of a lease; takes effect once the row is stored. */
export interface Lease {
  /** The row after the lease. */
  readonly row: BucketRow;
  /** Units taken from the row. */
  readonly units: number;
  /** True if they cover everything the instance owes. */
  readonly whole: boolean;
  /** Time at which the row was read, in milliseconds of the instance's clock. */
  readonly readMs: number;
}

/** Bucket of one team in one instance. */
export class SharedBucket extends TokenBucket {
  readonly #wantLease: (bucket: SharedBucket) => void;
  /** Row time minus the time of this instance, in microseconds. Never decreases. */
  #aheadUs: number;
  #sliceUnits: number;
  /** Units spent and not yet settled with the row; only debits can exceed the slice. */
  #owedUnits = 0;
  /** Row time that may be clock skew, in microseconds; 0 after the first lease. */
  #doubtUs = CLOCKS_APART_MS * 1_000;
  /** Start of the lease in progress; null for none. */
  #beganMs: number | null = null;
  /** True if the last request was refused because of the slice, not the rate. */
  #heldUp = false;
  #restUntilMs = -Infinity;
  #aloneUntilMs = -Infinity;

  /**
   * Creates the bucket of a team that is new to this instance.
   *
   * @param nowMs milliseconds of a monotonic clock, here and in all methods
   * @param epochMs unix milliseconds at which that clock was 0
   * @param wantLease called when it is time to {@link begin} a lease; must not wait for the store
   */
  constructor(
    rate: Rate,
    nowMs: number,
    epochMs: number,
    wantLease: (bucket: SharedBucket) => void,
  ) {
    super(rate, nowMs);
    this.#wantLease = wantLease;
    this.#aheadUs = Math.round(epochMs * 1_000);
    this.#sliceUnits = sliceOf(rate) * UNITS_PER_TOKEN;
  }

  /** Takes one token of the slice and of the estimate; returns false if either has none. */
  override take(nowMs: number): boolean {
    const behind = this.#owedUnits + UNITS_PER_TOKEN > this.#sliceUnits;
    this.#heldUp = behind && !this.#isAlone(nowMs);
    const taken = this.#heldUp ? this.refuse(nowMs) : super.take(nowMs);
    // Units spent beyond the slice while the store is slow are never settled: that would refuse later
    // calls. A debt from debits beyond the slice stays, because the row has yet to cover it.
    const owedUnits = Math.min(this.#owedUnits + UNITS_PER_TOKEN, this.#sliceUnits);
    if (taken) this.#owedUnits = Math.max(this.#owedUnits, owedUnits);
    this.#leaseWhenDue(nowMs);
    return taken;
  }

  /** Debits the cost of a request beyond its token; the row is debited with the next lease. */
  override debit(tokens: number, nowMs: number): void {
    super.debit(tokens, nowMs);
    this.#owedUnits += Math.round(tokens * UNITS_PER_TOKEN);
    this.#leaseWhenDue(nowMs);
  }

  /** Whole tokens left by the local estimate; 0 if the slice was used up. */
  override get remaining(): number {
    return this.#heldUp ? 0 : super.remaining;
  }

  /** Whole seconds, at least 1, until a refill, or until a lease if the row has tokens. */
  override get retryAfterSeconds(): number {
    return this.#heldUp && super.remaining > 0 ? 1 : super.retryAfterSeconds;
  }

  /** Changes the rate and the slice from the last request on. */
  override changeRate(rate: Rate): void {
    super.changeRate(rate);
    this.#sliceUnits = sliceOf(rate) * UNITS_PER_TOKEN;
    this.#owedUnits = Math.min(this.#owedUnits, this.#sliceUnits);
  }

  /** Milliseconds until the next lease after a partial one: the row then has tokens for another. */
  get restMs(): number {
    const { sustained, burst } = this.rate;
    const ms = LEASE_PART * burst / sustained * 1_000;
    return Math.min(Math.max(ms, SHORT_REST_MS.min), SHORT_REST_MS.max);
  }

  /** Starts a lease; returns false if one is in progress or nothing is owed. {@link settle} or {@link fail} ends it. */
  begin(nowMs: number): boolean {
    if (this.#beganMs !== null || this.#owedUnits === 0) return false;
    this.#beganMs = nowMs;
    return true;
  }

  /** Computes the lease from the row as read; `null` means no row, which counts as full. */
  lease(row: BucketRow | null, nowMs: number): Lease {
    const { sustained, burst } = this.rate;
    const nowUs = Math.round(nowMs * 1_000);
    if (row !== null) this.#aheadUs = Math.max(this.#aheadUs, row.atUs - nowUs);
    const atUs = nowUs + this.#aheadUs;
    const passedUs = row === null ? Infinity : Math.max(0, atUs - row.atUs - this.#doubtUs);
    const available = Math.min((row?.units ?? 0) + passedUs * sustained, burst * UNITS_PER_TOKEN);
    const units = Math.min(available, this.#owedUnits);
    const whole = units === this.#owedUnits;
    return { row: { units: available - units, atUs }, units, whole, readMs: nowMs };
  }

  /** Ends a lease that was stored. */
  settle({ row, units, whole, readMs }: Lease, nowMs: number): void {
    this.#doubtUs = 0;
    this.#owedUnits = Math.max(0, this.#owedUnits - units);
    const since = (nowMs - readMs) * 1_000 * this.rate.sustained;
    this.lowerTo(row.units + since - this.#owedUnits, nowMs);
    this.#aloneUntilMs = this.#isLate(nowMs) ? nowMs + LOCAL_ONLY_MS : -Infinity;
    if (!whole) this.#restUntilMs = nowMs + this.restMs;
    this.#beganMs = null;
    this.#leaseWhenDue(nowMs);
  }

  /** Ends a lease that failed or whose result is unknown. */
  fail(nowMs: number): void {
    this.#aloneUntilMs = nowMs + LOCAL_ONLY_MS;
    this.#restUntilMs = nowMs + FAILED_REST_MS;
    this.#beganMs = null;
  }

  /** Returns whether this instance uses its local bucket only. */
  #isAlone(nowMs: number): boolean {
    return nowMs < this.#aloneUntilMs || this.#isLate(nowMs);
  }

  #isLate(nowMs: number): boolean {
    return this.#beganMs !== null && nowMs - this.#beganMs > LATE_MS;
  }

  #leaseWhenDue(nowMs: number): void {
    if (this.#beganMs !== null || nowMs < this.#restUntilMs) return;
    const due = LEASE_PART * this.rate.burst * UNITS_PER_TOKEN;
    if (this.#owedUnits >= due) this.#wantLease(this);
  }
}
