/** The lease on background work: one holder at a time, replaced when it ends or is killed. */
import { assert, assertEquals } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { Lease } from "../../../jobs/lease.ts";
import { Loop } from "../../../runtime/loop.ts";
import { TIMERS } from "../../../runtime/deadlines.ts";
import { createLeaseStore, type LeaseStore } from "../../../kv/lease.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { until } from "../../support/harness/until.ts";

const LENGTHS = { ms: 300, renewMs: 60, lookMs: 20 };

/** A holder renews this lease in time on a busy machine too. */
const LONG = { ms: 10_000, renewMs: 60, lookMs: 20 };

/** An instance, and the next time that its turn begins. */
class Instance {
  readonly lease: Lease;
  #begun = Promise.withResolvers<void>();

  constructor(store: LeaseStore, lengths = LENGTHS) {
    const log = (line: string) => assertEquals(line, "no line");
    this.lease = new Lease({ store, timers: TIMERS, lengths, now: () => Date.now(), log });
    this.lease.onBegin(() => this.#begun.resolve());
    this.lease.start();
  }

  async begins(): Promise<void> {
    await this.#begun.promise;
    this.#begun = Promise.withResolvers();
  }
}

function leaseOf({ store }: TempStore): LeaseStore {
  return createLeaseStore(store, (error) => {
    throw error;
  });
}

TempStore.test("lease: one of several instances holds it; when it stops, another takes it at once", async (temp) => {
  const instances = [1, 2, 3].map(() => new Instance(leaseOf(temp), LONG));
  const first = await Promise.race(instances.map(async (one) => (await one.begins(), one)));
  assertEquals(instances.filter(({ lease }) => lease.isLeader), [first]);
  const others = instances.filter((one) => one !== first);
  const startMs = performance.now();
  await first.lease.stop();
  assert(!first.lease.isLeader);
  await Promise.race(others.map((one) => one.begins()));
  assert(performance.now() - startMs < LONG.ms / 2, "it waited for the end of a free lease");
  for (const { lease } of others) await lease.stop();
});

TempStore.test("lease: a holder that cannot renew stops in time, and another takes over after that", async (temp) => {
  const store = leaseOf(temp);
  let isCut = false;
  const fail = () => Promise.reject(new StorageUnavailable("cut off"));
  const cut = new Instance({
    version: () => isCut ? fail() : store.version(),
    take: (version) => isCut ? fail() : store.take(version),
    release: (version) => isCut ? fail() : store.release(version),
  });
  await cut.begins();
  const other = new Instance(leaseOf(temp));
  // Its loop runs steps only while it holds the lease.
  let steps = 0;
  const loop = new Loop(async () => {
    assert(other.lease.isLeader && !cut.lease.isLeader, "two instances work");
    steps++;
    await loop.wait(10);
  }, (error) => {
    throw error;
  }, other.lease);
  void loop.start();
  isCut = true;
  await other.begins();
  await loop.wait(30);
  await loop.stop();
  assert(steps > 0, "the loop did not begin");
  await cut.lease.stop();
  await other.lease.stop();
  assertEquals(await store.version(), null);
});

TempStore.test("lease: a lease that was stored without an answer belongs to its instance at once", async (temp) => {
  const mine = leaseOf(temp);
  // Its answer is lost.
  const lost = await mine.take(null);
  assertEquals(await mine.version(), null);
  const version = await mine.take(null);
  assert(version !== null && version !== lost);
  const other = leaseOf(temp);
  assertEquals([await other.version(), await other.take(null)], [version, null]);
});

TempStore.test("lease: a turn begins again if the lease ended while it was being renewed", async (temp) => {
  const store = leaseOf(temp);
  let renewal = Promise.resolve();
  const instance = new Instance({
    ...store,
    async take(version) {
      const taken = await store.take(version);
      await renewal;
      return taken;
    },
  });
  await instance.begins();
  const { promise, resolve } = Promise.withResolvers<void>();
  renewal = promise;
  await until(() => !instance.lease.isLeader);
  // The loops of its jobs sleep until their turn begins.
  let hasBegun = false;
  instance.lease.onBegin(() => hasBegun = true);
  resolve();
  await until(() => instance.lease.isLeader);
  assert(hasBegun, "its jobs sleep");
  await instance.lease.stop();
});
