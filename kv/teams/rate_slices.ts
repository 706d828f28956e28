/**
 * Request-rate buckets that several instances share: one row a team and part of the API, from which
 * each instance leases slices (`domain/teams/shared_bucket.ts`).
 *
 * @module
 */
import type { Timers } from "../../domain/core/deadlines.ts";
import { Memory } from "../../domain/core/memory.ts";
import type { Api, NewBucket } from "../../domain/teams/rate_limit.ts";
import { type BucketRow, type Lease, SharedBucket } from "../../domain/teams/shared_bucket.ts";
import { inTime } from "../base/deadline.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getEntry, type Store } from "../store.ts";
import { WorkerSignal } from "../writer/signal.ts";
import { createWriter, type Writer } from "../writer/writer.ts";

/** The leases of one instance. A bucket has one under way at most; requests never wait for it. */
export class RateSlices {
  readonly #store: Store;
  readonly #writer: Writer;
  readonly #timers: Timers;
  readonly #epochMs: number;
  readonly #underWay = new Set<Promise<void>>();
  /** Buckets with a lease to come, and how to forget it. */
  readonly #rests = new Map<SharedBucket, () => void>();
  #stopped = false;

  /**
   * Creates an instance that has leased nothing.
   *
   * @param store one whose handle to read with writes too, as that of a shared KV does
   * @param epochMs unix milliseconds when the clock of the timers was 0
   */
  constructor(store: Store, timers: Timers, epochMs: number) {
    this.#store = store;
    // A lease that loses its check must not hold up calls in the same commit.
    this.#writer = createWriter({
      kv: store.reader,
      reader: store.reader,
      limits: store.limits,
      deadlines: store.deadlines,
      workerSignal: new WorkerSignal(),
      inPlace: () => true,
      memory: new Memory(),
    });
    this.#timers = timers;
    this.#epochMs = epochMs;
  }

  /** Makes the buckets of a part of the API; their times are of the clock of the timers. */
  bucketsFor(api: Api): NewBucket {
    return (team, rate, nowMs) => {
      const key = keys.rateBucket(team, api);
      return new SharedBucket(rate, nowMs, this.#epochMs, (bucket) => this.#begin(key, bucket));
    };
  }

  /** Resolves once no lease is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Leases nothing more, and waits for what is under way. Before the store closes. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const forget of this.#rests.values()) forget();
    this.#rests.clear();
    await this.idle();
  }

  #begin(key: Deno.KvKey, bucket: SharedBucket): void {
    if (this.#stopped || !bucket.begin(this.#timers.now())) return;
    const work = this.#lease(key, bucket).finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  async #lease(key: Deno.KvKey, bucket: SharedBucket): Promise<void> {
    try {
      const lease = await this.#takeFromRow(key, bucket);
      bucket.settle(lease, this.#timers.now());
      if (!lease.whole) this.#leaseLater(key, bucket);
    } catch {
      // Calls that need the store tell of its failures; this bucket goes on without it.
      bucket.fail(this.#timers.now());
    }
  }

  /** One read and one commit, and both again when another instance was faster. */
  #takeFromRow(key: Deno.KvKey, bucket: SharedBucket): Promise<Lease> {
    const { deadlines } = this.#store;
    return untilCommitted("lease a slice", async () => {
      const entry = await inTime(getEntry(this.#store, key), deadlines);
      const lease = bucket.lease(entry.value as BucketRow | null, this.#timers.now());
      const committed = await this.#writer.commit({
        checks: [entry],
        sets: [{ key, value: lease.row }],
      });
      return committed === null ? LOST : lease;
    });
  }

  /** Buys back the rest once there is more in the row, though nobody should ask meanwhile. */
  #leaseLater(key: Deno.KvKey, bucket: SharedBucket): void {
    if (this.#stopped || this.#rests.has(bucket)) return;
    const forget = this.#timers.after(bucket.restMs, () => {
      this.#rests.delete(bucket);
      this.#begin(key, bucket);
    });
    this.#rests.set(bucket, forget);
  }
}
