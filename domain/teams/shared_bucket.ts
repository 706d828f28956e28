/**
 * The bucket of a team that asks several instances of the service, as one of them sees it.
 *
 * The tokens are in one row of the store. Each instance holds one slice of them on loan: it gives them
 * out at once, without a look at the store, and buys back from the row in the background what it
 * gave. Beside that it keeps a bucket of its own, an estimate of the row: full at first, filled at
 * the team's rate, and lowered to what the row says after each lease.
 *
 * **What holds.** Over any 10 s at most `burst + sustained × 10` and one slice for each instance are
 * given out: the row sells no more than it holds and gets, and an instance is never behind with more
 * than a slice. Three things add to that:
 *
 * - Clocks of instances that differ by `d` seconds: `sustained × d` at most. Row time never goes back:
 *   who is behind takes it over and fills nothing. It never passes the fastest clock, so in 10 s it
 *   moves by `10 + d` at most. A clock that is ahead brings its lead once, when it first asks, less
 *   {@link CLOCKS_APART_MS}, and no more than a full bucket.
 * - A bucket that an instance forgot, among many teams or by a restart, begins with a new slice.
 * - What requests cost beyond their token is debited afterwards, so it may pass the slice; nothing more is
 *   given out until the row has sold it.
 * - While the store takes longer than {@link LATE_MS} or fails, each instance goes by its own bucket:
 *   a store in trouble must not turn away a team that keeps to its rate.
 *
 * @module
 */
import { type Rate, TokenBucket, UNITS_PER_TOKEN } from "../core/token_bucket.ts";

/**
 * Milliseconds of a lease after which the store counts as slow. A slice lasts that long for a team at
 * its full rate, with the lease before it.
 */
export const LATE_MS = 150;

/** Milliseconds that an instance goes by its own bucket after the store was slow or failed. */
export const ALONE_MS = 5_000;

/** Milliseconds without a lease after the store failed. */
export const FAILED_REST_MS = 1_000;

/**
 * Milliseconds of row time that an instance takes over without filling when it first sees the row:
 * as much of it as may be the difference between two clocks.
 */
export const CLOCKS_APART_MS = 1_000;

/** Milliseconds without a lease after the row held too little. */
const SHORT_REST_MS = { min: 25, max: 1_000 } as const;

/**
 * The part of the burst that an instance is behind with when it leases. The rest of its slice is for
 * those who ask meanwhile; and a full row loses what comes back until it is told what was given out.
 */
const LEASE_PART = 0.05;

/** A slice is a part of the burst, or what comes back in so many seconds if that is more. */
const SLICE = { burstPart: 0.1, seconds: 0.2 } as const;

/** Tokens that an instance may give out ahead of the store; at least 1. */
export function sliceOf({ sustained, burst }: Rate): number {
  return Math.max(1, burst * SLICE.burstPart, sustained * SLICE.seconds);
}

/** The bucket as stored. */
export interface BucketRow {
  /** What is in it, in units of a token. */
  readonly units: number;
  /** Row time it was so at, in unix microseconds of whichever instance's clock is ahead. */
  readonly atUs: number;
}

/** What a lease makes of the row; it counts once the row is stored. */
export interface Lease {
  /** The row after it. */
  readonly row: BucketRow;
  /** Units it takes. */
  readonly units: number;
  /** Whether that is all the instance is behind with. */
  readonly whole: boolean;
  /** When the row was read, in milliseconds of the instance's clock. */
  readonly readMs: number;
}

/** One team's tokens in one instance. */
export class SharedBucket extends TokenBucket {
  readonly #wantLease: (bucket: SharedBucket) => void;
  /** Row time less the time of this instance, in microseconds. Only grows. */
  #aheadUs: number;
  #sliceUnits: number;
  /** Given out of the slice and not bought back yet; never more than the slice. */
  #owedUnits = 0;
  /** Row time that may be a difference between clocks, in microseconds; 0 after the first lease. */
  #doubtUs = CLOCKS_APART_MS * 1_000;
  /** When the lease under way began. */
  #beganMs: number | null = null;
  /** Whether the last request was refused for the slice, not for the rate. */
  #heldUp = false;
  #restUntilMs = -Infinity;
  #aloneUntilMs = -Infinity;

  /**
   * Creates the bucket of a team that this instance knows nothing about.
   *
   * @param nowMs milliseconds of a clock that never goes back, here and in all methods
   * @param epochMs unix milliseconds when that clock was 0
   * @param wantLease called when it is time to {@link begin} a lease; it must not wait for the store
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

  /** Takes one token of the slice and of the estimate; false where either has none. */
  override take(nowMs: number): boolean {
    const behind = this.#owedUnits + UNITS_PER_TOKEN > this.#sliceUnits;
    this.#heldUp = behind && !this.#isAlone(nowMs);
    const taken = this.#heldUp ? this.refuse(nowMs) : super.take(nowMs);
    // What is given out alone beyond the slice is never bought back: that would refuse later calls.
    // A debt beyond the slice stays: the row has yet to sell it.
    const given = Math.min(this.#owedUnits + UNITS_PER_TOKEN, this.#sliceUnits);
    if (taken) this.#owedUnits = Math.max(this.#owedUnits, given);
    this.#leaseWhenDue(nowMs);
    return taken;
  }

  /** Takes what a request cost beyond its token; the row is debited with the next lease. */
  override debit(tokens: number, nowMs: number): void {
    super.debit(tokens, nowMs);
    this.#owedUnits += Math.round(tokens * UNITS_PER_TOKEN);
    this.#leaseWhenDue(nowMs);
  }

  /** Whole tokens left as far as this instance knows; 0 when its slice was used up. */
  override get remaining(): number {
    return this.#heldUp ? 0 : super.remaining;
  }

  /** Whole seconds, at least 1: until the refill, or until a lease where the row has tokens. */
  override get moreAfterSeconds(): number {
    return this.#heldUp && super.remaining > 0 ? 1 : super.moreAfterSeconds;
  }

  /** Fills at another rate from the last request on, with another slice. */
  override changeRate(rate: Rate): void {
    super.changeRate(rate);
    this.#sliceUnits = sliceOf(rate) * UNITS_PER_TOKEN;
    this.#owedUnits = Math.min(this.#owedUnits, this.#sliceUnits);
  }

  /** Milliseconds to the next lease after one that was not whole: enough for another one. */
  get restMs(): number {
    const { sustained, burst } = this.rate;
    const ms = LEASE_PART * burst / sustained * 1_000;
    return Math.min(Math.max(ms, SHORT_REST_MS.min), SHORT_REST_MS.max);
  }

  /** Begins a lease; false where one is under way or nothing is owed. One of the others ends it. */
  begin(nowMs: number): boolean {
    if (this.#beganMs !== null || this.#owedUnits === 0) return false;
    this.#beganMs = nowMs;
    return true;
  }

  /** What this instance makes of the row as it was just read; `null`, a row not there, is full. */
  lease(row: BucketRow | null, nowMs: number): Lease {
    const { sustained, burst } = this.rate;
    const nowUs = Math.round(nowMs * 1_000);
    if (row !== null) this.#aheadUs = Math.max(this.#aheadUs, row.atUs - nowUs);
    const atUs = nowUs + this.#aheadUs;
    const passedUs = row === null ? Infinity : Math.max(0, atUs - row.atUs - this.#doubtUs);
    const there = Math.min((row?.units ?? 0) + passedUs * sustained, burst * UNITS_PER_TOKEN);
    const units = Math.min(there, this.#owedUnits);
    const whole = units === this.#owedUnits;
    return { row: { units: there - units, atUs }, units, whole, readMs: nowMs };
  }

  /** Ends a lease that is stored. */
  settle({ row, units, whole, readMs }: Lease, nowMs: number): void {
    this.#doubtUs = 0;
    this.#owedUnits = Math.max(0, this.#owedUnits - units);
    const since = (nowMs - readMs) * 1_000 * this.rate.sustained;
    this.lowerTo(row.units + since - this.#owedUnits, nowMs);
    this.#aloneUntilMs = this.#isLate(nowMs) ? nowMs + ALONE_MS : -Infinity;
    if (!whole) this.#restUntilMs = nowMs + this.restMs;
    this.#beganMs = null;
    this.#leaseWhenDue(nowMs);
  }

  /** Ends a lease that failed, or of which nobody knows. */
  fail(nowMs: number): void {
    this.#aloneUntilMs = nowMs + ALONE_MS;
    this.#restUntilMs = nowMs + FAILED_REST_MS;
    this.#beganMs = null;
  }

  /** Whether the slice does not count. */
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
