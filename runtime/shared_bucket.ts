/**
 * Token bucket of a team that uses several instances of the service, as seen by one instance.
 *
 * The tokens are stored in one row. Each instance may spend one slice of tokens ahead of the store,
 * without reading it. A lease in the background settles those tokens with the row. Requests beyond
 * the slice wait for the lease, which pays for them too: a burst passes with two or three leases.
 * In addition, each instance keeps a local bucket as an estimate of the row: full at first, refilled
 * at the team's rate, and lowered to the level of the row after each lease. A request that finds no
 * token there is refused and does not wait.
 *
 * **Guarantee.** Over any 10 s the instances spend at most `burst + sustained × 10` tokens and one
 * slice per instance: the row leases no more than its level and refill, and an instance never owes
 * more than a slice. The following can add to that:
 *
 * - Tokens of waiting requests are paid before the requests are admitted: at most the refill of that
 *   time adds to a window that starts meanwhile.
 * - Instance clocks that differ by `d` seconds add at most `sustained × d`. Row time never moves
 *   back: an instance that is behind adopts it and refills nothing. Row time never passes the
 *   fastest clock, so in 10 s it advances by at most `10 + d`. A clock that is ahead contributes
 *   its lead once, at its first lease, less {@link CLOCKS_APART_MS}, and at most a full bucket.
 * - A bucket that an instance evicted or lost in a restart starts with a new slice.
 * - The cost of requests beyond their token is debited afterwards, so it may exceed the slice. The
 *   instance spends nothing more until the row has covered it.
 * - While the store takes longer than {@link LeaseSource.lateMs} or fails, each instance uses its
 *   local bucket only: a store in trouble must not refuse a team that stays within its rate.
 *
 * @module
 */
import type { Rate } from "../domain/teams/plans.ts";
import { TokenBucket, UNITS_PER_TOKEN } from "./rate_limit.ts";

/** Maximum requests that wait for leases: of one bucket, and of all buckets of an instance. */
export const WAITING_MAX = { bucket: 400, all: 500 } as const;

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

/** Leases the slices of an instance's buckets. */
export interface LeaseSource {
  /** Called when it is time to {@link SharedBucket.begin} a lease; must not wait for the store. */
  want(bucket: SharedBucket): void;
  /** Milliseconds after which an attempt to lease is late. */
  readonly lateMs: number;
  /**
   * Adds a request to the waiting ones.
   *
   * @param expire called once when it has waited too long
   * @returns a function that ends the wait; null if too many requests wait
   */
  wait(expire: (nowMs: number) => void): (() => void) | null;
}

/** A request that waits for a lease. */
interface WaitingRequest {
  /** Ends the wait with or without a token. */
  readonly end: (hasToken: boolean) => void;
}

/** Bucket of one team in one instance. */
export class SharedBucket extends TokenBucket {
  readonly #source: LeaseSource;
  /** Row time minus the time of this instance, in microseconds. Never decreases. */
  #aheadUs: number;
  #sliceUnits: number;
  /** Units spent and not yet settled with the row; only debits can exceed the slice. */
  #owedUnits = 0;
  /** Row time that may be clock skew, in microseconds; 0 after the first lease. */
  #doubtUs = CLOCKS_APART_MS * 1_000;
  /** Requests that wait for a lease, in the order of their arrival. */
  readonly #waiting = new Set<WaitingRequest>();
  /** Start of the current attempt of the lease in progress; null for none. */
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
   */
  constructor(rate: Rate, nowMs: number, epochMs: number, source: LeaseSource) {
    super(rate, nowMs);
    this.#source = source;
    this.#aheadUs = Math.round(epochMs * 1_000);
    this.#sliceUnits = sliceOf(rate) * UNITS_PER_TOKEN;
  }

  /** Takes one token of the slice and of the estimate; returns false if either has none. */
  override take(nowMs: number): boolean {
    this.#heldUp = this.#isHeldUp(nowMs);
    const taken = this.#heldUp ? this.refuse(nowMs) : super.take(nowMs);
    // Units spent beyond the slice while the store is slow are never settled: that would refuse later
    // calls. A debt from debits beyond the slice stays, because the row has yet to cover it.
    const owedUnits = Math.min(this.#owedUnits + UNITS_PER_TOKEN, this.#sliceUnits);
    if (taken) this.#owedUnits = Math.max(this.#owedUnits, owedUnits);
    this.#leaseWhenDue(nowMs);
    return taken;
  }

  /** Takes a token now, or waits for one of the next lease if the slice alone has none. */
  override request<T>(nowMs: number, decide: (hasToken: boolean) => T): T | Promise<T> {
    if (this.#isHeldUp(nowMs)) this.#leaseWhenDue(nowMs);
    // A lease that is late ends the wait of all requests, in their order.
    else this.#admitWaiting(nowMs);
    const mayWait = this.#isHeldUp(nowMs) && this.#willLease(nowMs) &&
      this.#waiting.size < Math.min(this.tokensAt(nowMs), WAITING_MAX.bucket);
    if (!mayWait) return decide(this.take(nowMs));
    const { promise, resolve } = Promise.withResolvers<T>();
    const waiting: WaitingRequest = {
      end: (hasToken) => {
        this.#waiting.delete(waiting);
        leave?.();
        resolve(decide(hasToken));
      },
    };
    const leave = this.#source.wait((nowMs) => waiting.end(this.take(nowMs)));
    if (leave === null) return decide(this.take(nowMs));
    this.#waiting.add(waiting);
    return promise;
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

  /** Starts a lease; returns false if one is in progress or nothing is owed. {@link endLease} or {@link fail} ends it. */
  begin(nowMs: number): boolean {
    if (this.#beganMs !== null || this.#owedUnits === 0) return false;
    this.attempt(nowMs);
    return true;
  }

  /** Starts an attempt of the lease in progress: a conflict with another instance is not lateness. */
  attempt(nowMs: number): void {
    this.#beganMs = nowMs;
  }

  /** Admits waiting requests if the lease in progress is late. */
  noticeLate(nowMs: number): void {
    if (!this.#isHeldUp(nowMs)) this.#admitWaiting(nowMs);
  }

  /** Computes the lease from the row as read; `null` means no row, which counts as full. */
  lease(row: BucketRow | null, nowMs: number): Lease {
    const { sustained, burst } = this.rate;
    const nowUs = Math.round(nowMs * 1_000);
    if (row !== null) this.#aheadUs = Math.max(this.#aheadUs, row.atUs - nowUs);
    const atUs = nowUs + this.#aheadUs;
    const passedUs = row === null ? Infinity : Math.max(0, atUs - row.atUs - this.#doubtUs);
    const available = Math.min((row?.units ?? 0) + passedUs * sustained, burst * UNITS_PER_TOKEN);
    const wantedUnits = this.#owedUnits + this.#waiting.size * UNITS_PER_TOKEN;
    const units = Math.min(available, wantedUnits);
    const whole = units === wantedUnits;
    return { row: { units: available - units, atUs }, units, whole, readMs: nowMs };
  }

  /** Ends a lease that was stored. */
  endLease({ row, units, whole, readMs }: Lease, nowMs: number): void {
    this.#doubtUs = 0;
    // Below 0 are the tokens of waiting requests.
    this.#owedUnits -= units;
    const since = (nowMs - readMs) * 1_000 * this.rate.sustained;
    this.lowerTo(row.units + since - this.#owedUnits, nowMs);
    this.#aloneUntilMs = this.#isLate(nowMs) ? nowMs + LOCAL_ONLY_MS : -Infinity;
    if (!whole) this.#restUntilMs = nowMs + this.restMs;
    this.#beganMs = null;
    this.#admitWaiting(nowMs);
    // Tokens of requests that gave up are lost: they would add to a later window.
    this.#owedUnits = Math.max(0, this.#owedUnits);
    this.#leaseWhenDue(nowMs);
  }

  /** Ends a lease that failed or whose result is unknown. */
  fail(nowMs: number): void {
    this.#aloneUntilMs = nowMs + LOCAL_ONLY_MS;
    this.#restUntilMs = nowMs + FAILED_REST_MS;
    this.#beganMs = null;
    this.#admitWaiting(nowMs);
  }

  /** Takes tokens for waiting requests, in their order, until the slice is used up again. */
  #admitWaiting(nowMs: number): void {
    for (const waiting of this.#waiting) {
      const waitsOn = this.#isHeldUp(nowMs) && this.#willLease(nowMs) && this.tokensAt(nowMs) >= 1;
      if (waitsOn) return;
      waiting.end(this.take(nowMs));
    }
  }

  /** Returns whether the slice is used up, and counts. */
  #isHeldUp(nowMs: number): boolean {
    return this.#owedUnits + UNITS_PER_TOKEN > this.#sliceUnits && !this.#isAlone(nowMs);
  }

  /** Returns whether a lease is in progress, or starts after a rest. */
  #willLease(nowMs: number): boolean {
    return this.#beganMs !== null || nowMs < this.#restUntilMs;
  }

  /** Returns whether this instance uses its local bucket only. */
  #isAlone(nowMs: number): boolean {
    return nowMs < this.#aloneUntilMs || this.#isLate(nowMs);
  }

  #isLate(nowMs: number): boolean {
    return this.#beganMs !== null && nowMs - this.#beganMs > this.#source.lateMs;
  }

  #leaseWhenDue(nowMs: number): void {
    if (this.#beganMs !== null || nowMs < this.#restUntilMs) return;
    const dueUnits = LEASE_PART * this.rate.burst * UNITS_PER_TOKEN;
    const usedUp = this.#owedUnits + UNITS_PER_TOKEN > this.#sliceUnits;
    if (usedUp || this.#owedUnits >= dueUnits) this.#source.want(this);
  }
}
