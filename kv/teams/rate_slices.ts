/**
 * Request-rate buckets shared by several instances: one row per team and API, from which each
 * instance leases slices (`runtime/shared_bucket.ts`).
 *
 * @module
 */
import type { Timers } from "../../runtime/deadlines.ts";
import type { Api, NewBucket } from "../../runtime/rate_limit.ts";
import {
  type BucketRow,
  type Lease,
  type LeaseSource,
  SharedBucket,
  WAITING_MAX,
} from "../../runtime/shared_bucket.ts";
import { inTime, LOST, untilCommitted } from "../base/retry.ts";
import { keys } from "../base/keys.ts";
import { getEntry, type Store } from "../store.ts";
import { GroupWriter, type Writer } from "../writer/writer.ts";

/** Leases of one instance, at most one in flight per bucket. */
export class RateSlices {
  readonly #store: Store;
  readonly #writer: Writer;
  readonly #timers: Timers;
  readonly #epochMs: number;
  readonly #leases = new Set<Promise<void>>();
  readonly #leaseTime = new LeaseTime();
  /** Number of requests that wait for leases. */
  #waiting = 0;
  /** Buckets with a scheduled lease, and the function that cancels it. */
  readonly #rests = new Map<SharedBucket, () => void>();
  #stopped = false;

  /**
   * Creates an instance without leases.
   *
   * @param store a store whose `reader` also writes, as with a shared KV
   * @param epochMs unix milliseconds at time 0 of the timers' clock
   */
  constructor(store: Store, timers: Timers, epochMs: number) {
    this.#store = store;
    // A separate writer: a lease that conflicts must not delay other writes in the same commit.
    this.#writer = new GroupWriter({ ...store, kv: store.reader });
    this.#timers = timers;
    this.#epochMs = epochMs;
  }

  /** Returns the bucket factory of an API; bucket times use the timers' clock. */
  bucketsFor(api: Api): NewBucket {
    return (team, rate, nowMs) => {
      const key = keys.rateBucket(team, api);
      const leaseTime = this.#leaseTime;
      const source: LeaseSource = {
        want: (bucket) => this.#begin(key, bucket),
        get lateMs() {
          return leaseTime.lateMs;
        },
        wait: (expire) => this.#wait(expire),
      };
      return new SharedBucket(rate, nowMs, this.#epochMs, source);
    };
  }

  /** Resolves once no lease is in flight. */
  async idle(): Promise<void> {
    while (this.#leases.size > 0) await Promise.all(this.#leases);
  }

  /** Stops leasing and waits for leases in flight. Call it before the store closes. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#rests.values()) cancel();
    this.#rests.clear();
    await this.idle();
  }

  #begin(key: Deno.KvKey, bucket: SharedBucket): void {
    if (this.#stopped || !bucket.begin(this.#timers.now())) return;
    const work = this.#lease(key, bucket).finally(() => this.#leases.delete(work));
    this.#leases.add(work);
  }

  async #lease(key: Deno.KvKey, bucket: SharedBucket): Promise<void> {
    try {
      const lease = await this.#takeFromRow(key, bucket);
      bucket.endLease(lease, this.#timers.now());
      if (!lease.whole) this.#leaseLater(key, bucket);
    } catch {
      // Requests that need the store report its failures; this bucket continues without it.
      bucket.fail(this.#timers.now());
    }
  }

  /** Leases with one read and one commit, and retries on a conflict. */
  #takeFromRow(key: Deno.KvKey, bucket: SharedBucket): Promise<Lease> {
    return untilCommitted("lease a slice", async () => {
      const beganMs = this.#timers.now();
      bucket.attempt(beganMs);
      const cancel = this.#timers.after(this.#leaseTime.lateMs + 1, () => {
        bucket.noticeLate(this.#timers.now());
      });
      try {
        const lease = await this.#attempt(key, bucket);
        if (lease !== LOST) this.#leaseTime.observe(this.#timers.now() - beganMs);
        return lease;
      } finally {
        cancel();
      }
    });
  }

  async #attempt(key: Deno.KvKey, bucket: SharedBucket): Promise<Lease | typeof LOST> {
    const entry = await inTime(getEntry(this.#store, key), this.#store.deadlines);
    const lease = bucket.lease(entry.value as BucketRow | null, this.#timers.now());
    const committed = await this.#writer.commit({
      checks: [entry],
      sets: [{ key, value: lease.row }],
    });
    return committed === null ? LOST : lease;
  }

  /** Lets a request wait for a lease as long as for the store. */
  #wait(expire: (nowMs: number) => void): (() => void) | null {
    if (this.#waiting >= WAITING_MAX.all) return null;
    this.#waiting++;
    const { deadlines } = this.#store;
    const wait = deadlines.watch(() => expire(this.#timers.now()));
    return () => {
      this.#waiting--;
      deadlines.done(wait);
    };
  }

  /** Schedules a lease of the rest for when the row has refilled, even without requests. */
  #leaseLater(key: Deno.KvKey, bucket: SharedBucket): void {
    if (this.#stopped || this.#rests.has(bucket)) return;
    const cancel = this.#timers.after(bucket.restMs, () => {
      this.#rests.delete(bucket);
      this.#begin(key, bucket);
    });
    this.#rests.set(bucket, cancel);
  }
}

/**
 * Range in milliseconds of the time after which a lease counts as late and the store as slow. A slice
 * and the lease before it last the minimum for a team at its full rate.
 */
const LATE_MS = { min: 150, max: 1_000 } as const;

/** Multiple of the mean time of leases after which one counts as late. */
const LATE_FACTOR = 3;

/** Weight of the last lease in the mean time of leases. */
const MEAN_WEIGHT = 0.2;

/** Mean time of the leases of one instance. */
export class LeaseTime {
  /** Null before the first lease. */
  #meanMs: number | null = null;

  /** Adds the time of an attempt that was stored. */
  observe(ms: number): void {
    const meanMs = this.#meanMs ?? ms;
    this.#meanMs = meanMs + MEAN_WEIGHT * (ms - meanMs);
  }

  /** Milliseconds after which a lease is late; the maximum before the first one. */
  get lateMs(): number {
    const ms = LATE_FACTOR * (this.#meanMs ?? Infinity);
    return Math.min(Math.max(ms, LATE_MS.min), LATE_MS.max);
  }
}
