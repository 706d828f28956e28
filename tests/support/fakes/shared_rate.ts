/** Instances that share one team's bucket, and their common store, on a clock that a test moves. */
import type { Rate } from "../../../domain/teams/plans.ts";
import { type BucketRow, type Lease, SharedBucket } from "../../../runtime/shared_bucket.ts";

/** Maximum milliseconds of a lease before `hurry` completes it: the store is never slow here. */
export const LEASE_MS_MAX = 100;

/** Milliseconds after which a lease is late. */
export const LATE_MS = 150;

/** Shared state of the instances: the stored row, the true time, and the admitted requests. */
export interface World {
  readonly rate: Rate;
  /** True time in milliseconds. */
  nowMs: number;
  row: BucketRow | null;
  version: number;
  /** Each admitted request, in order. */
  readonly admitted: { readonly atMs: number; readonly by: SharedInstance }[];
  /** Number of requests that were refused, possibly after a wait. */
  refused: number;
  /** Number of conflicts. */
  lost: number;
}

/** Creates a world without requests. */
export function newWorld(rate: Rate): World {
  return { rate, nowMs: 5_000, row: null, version: 0, admitted: [], refused: 0, lost: 0 };
}

/** One instance: its bucket, and a lease that advances only by `step`. */
export class SharedInstance {
  readonly bucket: SharedBucket;
  readonly #world: World;
  readonly #baseMs: number;
  #begunMs: number | null = null;
  #read: { readonly lease: Lease; readonly version: number } | null = null;
  #stored: Lease | null = null;
  #againMs = Infinity;

  /** @param aheadMs lead of its date over the true time */
  constructor(world: World, readonly aheadMs = 0, baseMs = 77_777) {
    this.#world = world;
    // The origin of its own clock is unrelated to the date.
    this.#baseMs = baseMs;
    const source = { want: () => this.#begin(), lateMs: LATE_MS, wait: () => () => {} };
    this.bucket = new SharedBucket(world.rate, this.#nowMs, aheadMs - baseMs, source);
  }

  get #nowMs(): number {
    return this.#world.nowMs + this.#baseMs;
  }

  get leasing(): boolean {
    return this.#begunMs !== null;
  }

  /** Sends `count` requests together; returns the number of admitted ones. */
  ask(count = 1): number {
    let admitted = 0;
    for (let n = 0; n < count; n++) {
      if (!this.bucket.take(this.#nowMs)) continue;
      this.#world.admitted.push({ atMs: this.#world.nowMs, by: this });
      admitted++;
    }
    return admitted;
  }

  /** Sends `count` requests together, which may wait for a lease. */
  request(count: number): void {
    for (let n = 0; n < count; n++) {
      void this.bucket.request(this.#nowMs, (hasToken) => {
        if (hasToken) this.#world.admitted.push({ atMs: this.#world.nowMs, by: this });
        else this.#world.refused++;
      });
    }
  }

  #begin(): void {
    if (this.bucket.begin(this.#nowMs)) this.#begunMs = this.#world.nowMs;
  }

  /** Executes the next step of the lease in flight: read, write, or completion. */
  step(): void {
    if (this.#begunMs === null) return;
    if (this.#stored !== null) return this.#complete(this.#stored);
    if (this.#read === null) {
      const { row, version } = this.#world;
      this.#read = { lease: this.bucket.lease(row, this.#nowMs), version };
      return;
    }
    const { lease, version } = this.#read;
    this.#read = null;
    if (version !== this.#world.version) return void this.#world.lost++;
    if (lease.row.atUs < (this.#world.row?.atUs ?? 0)) throw new Error("Row time went back");
    this.#world.row = lease.row;
    this.#world.version++;
    this.#stored = lease;
  }

  /** Completes a lease if one is due. */
  finish(): void {
    while (this.leasing) this.step();
  }

  #complete(lease: Lease): void {
    this.#begunMs = this.#stored = null;
    this.bucket.endLease(lease, this.#nowMs);
    if (!lease.whole) this.#againMs = this.#world.nowMs + this.bucket.restMs;
  }

  /** Executes steps that are overdue. */
  hurry(): void {
    if (this.#world.nowMs >= this.#againMs) {
      this.#againMs = Infinity;
      this.#begin();
    }
    while (this.#begunMs !== null && this.#world.nowMs - this.#begunMs >= LEASE_MS_MAX) this.step();
  }

  /** Makes the instance notice a late lease. */
  notice(): void {
    this.bucket.noticeLate(this.#nowMs);
  }

  fail(): void {
    this.#begunMs = this.#read = this.#stored = null;
    this.bucket.fail(this.#nowMs);
  }
}
