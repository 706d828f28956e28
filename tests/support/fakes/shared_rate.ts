/** Instances that share one team's bucket, and the store between them, on a clock that a test moves. */
import type { Rate } from "../../../domain/core/token_bucket.ts";
import { type BucketRow, type Lease, SharedBucket } from "../../../domain/teams/shared_bucket.ts";

/** Milliseconds that a lease may be under way before it is hurried: the store is never slow here. */
const LEASE_MS_MAX = 100;

/** What the instances have in common: the row, the true time, and what was given out when. */
export interface World {
  readonly rate: Rate;
  /** True time in milliseconds. */
  nowMs: number;
  row: BucketRow | null;
  version: number;
  /** Each request that was let through, in order. */
  readonly admitted: { readonly atMs: number; readonly by: SharedInstance }[];
  /** Checks that were lost. */
  lost: number;
}

/** A world in which nobody has asked yet. */
export function newWorld(rate: Rate): World {
  return { rate, nowMs: 5_000, row: null, version: 0, admitted: [], lost: 0 };
}

/** One instance: its bucket, and a lease that goes on only when it is told to. */
export class SharedInstance {
  readonly bucket: SharedBucket;
  readonly #world: World;
  readonly #baseMs: number;
  #begunMs: number | null = null;
  #read: { readonly lease: Lease; readonly version: number } | null = null;
  #stored: Lease | null = null;
  #againMs = Infinity;

  /** @param aheadMs how much its idea of the date is ahead of the true time */
  constructor(world: World, readonly aheadMs = 0, baseMs = 77_777) {
    this.#world = world;
    // What its own clock counts from says nothing about the date.
    this.#baseMs = baseMs;
    const wantLease = () => this.#begin();
    this.bucket = new SharedBucket(world.rate, this.#nowMs, aheadMs - baseMs, wantLease);
  }

  get #nowMs(): number {
    return this.#world.nowMs + this.#baseMs;
  }

  get leasing(): boolean {
    return this.#begunMs !== null;
  }

  /** Sends so many requests at once; answers how many it let through. */
  ask(count = 1): number {
    let taken = 0;
    for (let n = 0; n < count; n++) {
      if (!this.bucket.take(this.#nowMs)) continue;
      this.#world.admitted.push({ atMs: this.#world.nowMs, by: this });
      taken++;
    }
    return taken;
  }

  #begin(): void {
    if (this.bucket.begin(this.#nowMs)) this.#begunMs = this.#world.nowMs;
  }

  /** The next step of the lease under way: reading, storing, hearing of it. */
  step(): void {
    if (this.#begunMs === null) return;
    if (this.#stored !== null) return this.#hear(this.#stored);
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

  /** A lease from its beginning to its end, where one is due. */
  finish(): void {
    while (this.leasing) this.step();
  }

  #hear(lease: Lease): void {
    this.#begunMs = this.#stored = null;
    this.bucket.settle(lease, this.#nowMs);
    if (!lease.whole) this.#againMs = this.#world.nowMs + this.bucket.restMs;
  }

  /** Whatever must not wait any longer. */
  hurry(): void {
    if (this.#world.nowMs >= this.#againMs) {
      this.#againMs = Infinity;
      this.#begin();
    }
    while (this.#begunMs !== null && this.#world.nowMs - this.#begunMs >= LEASE_MS_MAX) this.step();
  }

  /** The store fails. */
  fail(): void {
    this.#begunMs = this.#read = this.#stored = null;
    this.bucket.fail(this.#nowMs);
  }
}
