/** Instances that share a bucket against the team's contract, on test clocks. */
import { assert, assertEquals } from "@std/assert";
import { type BucketRow, SharedBucket, sliceOf } from "../../../runtime/shared_bucket.ts";
import type { Rate } from "../../../domain/teams/plans.ts";
import { TokenBucket } from "../../../runtime/rate_limit.ts";
import {
  LATE_MS,
  LEASE_MS_MAX,
  newWorld,
  SharedInstance,
  type World,
} from "../../support/fakes/shared_rate.ts";

import fc from "fast-check";

const FREE: Rate = { sustained: 100, burst: 200 };

const rates = fc.oneof(
  fc.constant(FREE),
  fc.record({
    sustained: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(0.2, 0.5)),
    burst: fc.integer({ min: 1, max: 200 }),
  }),
);

/** One step: time passes, then an instance gets a request, continues or ends. */
const happening = fc.record({
  gapMs: fc.oneof(
    { weight: 200, arbitrary: fc.integer({ min: 0, max: 60 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 5_000 }) },
  ),
  who: fc.nat(7),
  what: fc.oneof(
    { weight: 50, arbitrary: fc.record({ ask: fc.integer({ min: 1, max: 60 }) }) },
    { weight: 50, arbitrary: fc.record({ request: fc.integer({ min: 1, max: 60 }) }) },
    { weight: 200, arbitrary: fc.constant("step" as const) },
    { weight: 1, arbitrary: fc.record({ crash: fc.nat() }) },
  ),
});

/** Advances time in small steps, so that no lease takes longer than with a healthy store. */
function pass(world: World, instances: readonly SharedInstance[], ms: number): void {
  const untilMs = world.nowMs + ms;
  while (world.nowMs < untilMs) {
    world.nowMs = Math.min(untilMs, world.nowMs + 10);
    for (const instance of instances) instance.hurry();
  }
}

/** Plays a scenario with instances whose clocks are ahead, replacing instances that crash. */
function play(
  rate: Rate,
  aheadMs: readonly number[],
  happenings: readonly (typeof happening extends fc.Arbitrary<infer T> ? T : never)[],
): World {
  const world = newWorld(rate);
  const instances = aheadMs.map((ms, n) => new SharedInstance(world, ms, n * 1_234.567));
  for (const { gapMs, who, what } of happenings) {
    pass(world, instances, gapMs);
    const at = who % instances.length;
    if (what === "step") instances[at]?.step();
    else if ("ask" in what) instances[at]?.ask(what.ask);
    else if ("request" in what) instances[at]?.request(what.request);
    else {
      const ms = aheadMs[what.crash % aheadMs.length] ?? 0;
      instances[at] = new SharedInstance(world, ms, what.crash);
    }
  }
  return world;
}

/** Seconds from the read of a lease to its end, and one step of time. */
const PAID_BEFORE_S = (LEASE_MS_MAX + 10) / 1_000;

/**
 * Maximum excess of any 10 s over `burst + sustained * 10`, one slice per instance, and what refilled
 * while requests waited that had paid.
 */
function excess({ rate, admitted }: World): number {
  let most = -Infinity;
  for (const [i, { atMs }] of admitted.entries()) {
    if (admitted[i - 1]?.atMs === atMs) continue;
    let count = 0;
    const who = new Set<SharedInstance>();
    for (let j = i; j < admitted.length; j++) {
      const next = admitted[j];
      if (next === undefined || next.atMs > atMs + 10_000) break;
      count++;
      who.add(next.by);
      const passed = (next.atMs - atMs) / 1_000;
      const promised = rate.burst + rate.sustained * (passed + PAID_BEFORE_S) +
        who.size * sliceOf(rate);
      most = Math.max(most, count - promised);
    }
  }
  return most;
}

const sequences = fc.array(happening, { minLength: 300, maxLength: 600, size: "max" });

/** Milliseconds by which the clocks of instances are ahead; of half of the worlds, none. */
const clocks = fc.oneof(
  fc.integer({ min: 1, max: 8 }).map((count): number[] => Array(count).fill(0)),
  fc.array(fc.integer({ min: -3_000, max: 3_000 }), { minLength: 1, maxLength: 8 }),
);

Deno.test("shared: never admits more than the burst, the sustained rate, a slice per instance, and the refill of what clocks differ", () => {
  let lost = 0;
  fc.assert(
    fc.property(rates, clocks, sequences, (rate, aheadMs, happenings) => {
      const apart = (Math.max(...aheadMs) - Math.min(...aheadMs)) / 1_000;
      const world = play(rate, aheadMs, happenings);
      lost += world.lost;
      assert(excess(world) <= apart * rate.sustained + 1e-6, `${excess(world)} too many`);
    }),
    { numRuns: 200, endOnFailure: true },
  );
  assert(lost > 100, `only ${lost} checks were lost`);
});

/**
 * Sends a multiple of the sustained rate evenly to all instances; returns how many were admitted.
 */
function askEvenly(world: World, instances: readonly SharedInstance[], load: number, ms: number) {
  const { sustained } = world.rate;
  const startMs = world.nowMs;
  let requestCount = 0;
  let admitted = 0;
  for (; world.nowMs < startMs + ms; pass(world, instances, 2)) {
    const due = Math.floor((world.nowMs - startMs) / 1_000 * sustained * load);
    for (; requestCount < due; requestCount++) {
      admitted += instances[requestCount % instances.length]?.ask() ?? 0;
    }
    for (const instance of instances) instance.step();
  }
  return { requested: requestCount, taken: admitted };
}

Deno.test("shared: a team above its rate gets the sustained rate, however many instances there are", () => {
  for (const rate of [FREE, { sustained: 2_000, burst: 5_000 }, { sustained: 20, burst: 1 }]) {
    for (const count of [1, 2, 3, 8]) {
      for (const load of [1, 3]) {
        const world = newWorld(rate);
        const instances = Array.from({ length: count }, () => new SharedInstance(world));
        const { taken } = askEvenly(world, instances, load, 60_000);
        assert(taken >= 0.95 * 60 * rate.sustained, `${count} at ${load}: ${taken}`);
      }
    }
  }
});

Deno.test("shared: a team within its rate is not refused, however many instances there are", () => {
  for (const rate of [FREE, { sustained: 2_000, burst: 5_000 }]) {
    for (const count of [1, 2, 3, 8]) {
      const world = newWorld(rate);
      const instances = Array.from({ length: count }, () => new SharedInstance(world));
      const { requested, taken } = askEvenly(world, instances, 0.98, 60_000);
      assertEquals(taken, requested, `${count} instances`);
    }
  }
});

Deno.test("shared: the first slice of an instance needs no lease, and then leases keep up", () => {
  const world = newWorld(FREE);
  const instance = new SharedInstance(world);
  assertEquals(instance.ask(21), sliceOf(FREE));
  // The team has tokens, this instance has none: it waits for the lease in flight.
  assertEquals([instance.bucket.remaining, instance.bucket.retryAfterSeconds], [0, 1]);
  instance.finish();
  assertEquals(world.row?.units, 180_000_000);
  let admitted = sliceOf(FREE);
  for (let n = 0; n < 40; n++, instance.finish()) admitted += instance.ask(5);
  assertEquals([admitted, instance.bucket.remaining], [200, 0]);
  const slow = new SharedInstance(newWorld({ sustained: 0.1, burst: 20 }));
  assertEquals([slow.ask(3), slow.bucket.remaining, slow.bucket.retryAfterSeconds], [2, 0, 1]);
});

Deno.test("shared: an instance reports the remaining tokens as of its last lease, including other instances' requests", () => {
  const world = newWorld(FREE);
  const [one, other] = [new SharedInstance(world), new SharedInstance(world)];
  for (let n = 0; n < 10; n++, one.finish()) one.ask(10);
  other.ask();
  assertEquals([one.bucket.remaining, other.bucket.remaining], [100, 199]);
  other.ask(9);
  other.finish();
  assertEquals(other.bucket.remaining, 90);
});

Deno.test("shared: after an overload from all instances, one second of rest is enough", () => {
  const world = newWorld(FREE);
  const instances = Array.from({ length: 4 }, () => new SharedInstance(world));
  for (let n = 0; n < 100; n++, pass(world, instances, 10)) {
    for (const instance of instances) instance.ask(50);
  }
  pass(world, instances, 1_000);
  for (const instance of instances) assertEquals(instance.ask(10), 10);
});

Deno.test("shared: tokens admitted beyond the row are part of the reported wait", () => {
  const world = newWorld({ sustained: 1, burst: 100 });
  const instances = Array.from({ length: 8 }, () => new SharedInstance(world));
  // No instance knows of the others yet: each admits ten, and the row had 60.
  world.row = { units: 60_000_000, atUs: world.nowMs * 1_000 };
  for (const instance of instances) assertEquals(instance.ask(10), 10);
  for (const instance of instances) instance.finish();
  const last = instances[7]?.bucket;
  assertEquals([last?.remaining, last?.retryAfterSeconds], [0, 11]);
  pass(world, instances, 10_000);
  assertEquals(instances[7]?.ask(), 0);
  pass(world, instances, 21_000);
  assertEquals(instances[7]?.ask(), 1);
});

Deno.test("shared: a clock ahead by less than a second mints no tokens", () => {
  for (const aheadMs of [0, 500, 999]) {
    const world = newWorld(FREE);
    const first = new SharedInstance(world);
    for (let n = 0; n < 40; n++, first.finish()) first.ask(5);
    const ahead = new SharedInstance(world, aheadMs);
    ahead.ask(10);
    ahead.finish();
    assertEquals(world.row?.units, 0, `${aheadMs}`);
  }
});

Deno.test("shared: a clock an hour ahead adds one full bucket, and no instance stalls once it is corrected", () => {
  const world = newWorld(FREE);
  const first = new SharedInstance(world);
  for (let n = 0; n < 40; n++, first.finish()) first.ask(5);
  const ahead = new SharedInstance(world, 3_600_000);
  let admitted = 0;
  for (let n = 0; n < 1_000; n++, ahead.finish()) admitted += ahead.ask(1);
  assert(admitted <= FREE.burst + sliceOf(FREE), `${admitted}`);
  const after = askEvenly(world, [first], 1, 10_000);
  assert(after.taken >= 0.95 * after.requested, `${after.taken}`);
  // An instance an hour behind also uses the others' time.
  const late = askEvenly(world, [new SharedInstance(world, -3_600_000)], 1, 10_000);
  assert(late.taken >= 0.95 * late.requested, `${late.taken}`);
  assert(after.taken + late.taken <= 2_000 + 2 * sliceOf(FREE));
});

Deno.test("shared: a changed plan applies to the slice too", () => {
  const world = newWorld(FREE);
  const instance = new SharedInstance(world);
  assertEquals(instance.ask(15), 15);
  instance.bucket.changeRate({ sustained: 2_000, burst: 5_000 });
  instance.finish();
  world.nowMs += 10_000;
  assertEquals(instance.ask(1_000), 500);
  instance.bucket.changeRate(FREE);
  assertEquals(instance.ask(), 0);
  instance.finish();
  assertEquals(instance.ask(30), 20);
});

Deno.test("a debit beyond the slice is repaid from the row before any token is admitted", () => {
  let row: BucketRow | null = null;
  const source = { want() {}, lateMs: LATE_MS, wait: () => () => {} };
  const bucket = new SharedBucket(FREE, 0, 0, source);
  const lease = (nowMs: number) => {
    assert(bucket.begin(nowMs));
    const granted = bucket.lease(row, nowMs);
    row = granted.row;
    bucket.endLease(granted, nowMs);
    return granted.whole;
  };
  bucket.debit(500, 0);
  assertEquals([bucket.take(0), lease(0)], [false, false]);
  // The row was full: 200 of 500 are repaid, the remaining 300 refill in 3 s.
  assertEquals([bucket.take(1_500), lease(1_500)], [false, false]);
  assertEquals(lease(3_100), true);
  assertEquals(bucket.take(3_100), true);
});

Deno.test("a bucket in debt admits nothing until the refill has repaid it", () => {
  const bucket = new TokenBucket(FREE, 0);
  bucket.debit(250.5, 0);
  assertEquals([bucket.remaining, bucket.debtMs(0), bucket.take(0)], [0, 505, false]);
  assertEquals([bucket.debtMs(505), bucket.take(505), bucket.take(515)], [0, false, true]);
});
