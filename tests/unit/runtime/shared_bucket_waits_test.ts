/** Requests that wait for a lease of a shared bucket, and leases that are late or fail. */
import { assert, assertEquals } from "@std/assert";
import type { Rate } from "../../../domain/teams/plans.ts";
import { LeaseTime } from "../../../kv/teams/rate_slices.ts";
import {
  LOCAL_ONLY_MS,
  SharedBucket,
  sliceOf,
  WAITING_MAX,
} from "../../../runtime/shared_bucket.ts";
import { LATE_MS, newWorld, SharedInstance } from "../../support/fakes/shared_rate.ts";

const FREE: Rate = { sustained: 100, burst: 200 };

Deno.test("shared: a burst beyond the slice waits for one lease, as far as the bucket has tokens", () => {
  const world = newWorld(FREE);
  const instance = new SharedInstance(world);
  instance.request(320);
  // A request without a token is refused at once, as without other instances.
  assertEquals([world.admitted.length, world.refused], [20, 120]);
  instance.finish();
  assertEquals([world.admitted.length, world.refused, world.row?.units], [200, 120, 0]);
  world.nowMs += 1_000;
  instance.request(120);
  instance.finish();
  assertEquals([world.admitted.length, world.refused], [300, 140]);
});

Deno.test("shared: requests that arrive during a lease wait for the next one", () => {
  const world = newWorld(FREE);
  const instance = new SharedInstance(world);
  instance.request(20);
  instance.step();
  instance.request(50);
  assertEquals(world.admitted.length, 20);
  instance.finish();
  assertEquals([world.admitted.length, world.refused], [70, 0]);
});

Deno.test("shared: waiting requests are admitted in order, before those that come later", () => {
  const bucket = new SharedBucket(FREE, 0, 0, {
    want: (bucket) => void bucket.begin(0),
    lateMs: LATE_MS,
    wait: () => () => {},
  });
  const order: number[] = [];
  for (let n = 0; n < 50; n++) void bucket.request(0, () => order.push(n));
  bucket.endLease(bucket.lease(null, 0), 0);
  assertEquals(order, Array.from({ length: 50 }, (_, n) => n));
});

Deno.test("shared: a request that cannot wait is refused: too many wait, or no lease comes", () => {
  const rate = { sustained: 10, burst: 5_000 };
  const decide = (bucket: SharedBucket, count: number) => {
    let decided = 0;
    for (let n = 0; n < count; n++) void bucket.request(0, () => decided++);
    return decided;
  };
  const leasing = { want: (bucket: SharedBucket) => void bucket.begin(0), lateMs: LATE_MS };
  const crowded = new SharedBucket(rate, 0, 0, { ...leasing, wait: () => () => {} });
  assertEquals(decide(crowded, 1_000), 1_000 - WAITING_MAX.bucket);
  const full = new SharedBucket(rate, 0, 0, { ...leasing, wait: () => null });
  assertEquals(decide(full, 1_000), 1_000);
  const stopped = new SharedBucket(rate, 0, 0, { ...leasing, want() {}, wait: () => () => {} });
  assertEquals(decide(stopped, 1_000), 1_000);
});

Deno.test("shared: a late or failed lease ends the wait in the instance's own bucket", () => {
  for (const end of ["late", "request", "fail"] as const) {
    const world = newWorld(FREE);
    const instance = new SharedInstance(world);
    instance.request(100);
    assertEquals(world.admitted.length, 20);
    world.nowMs += LATE_MS + 1;
    if (end === "late") instance.notice();
    else if (end === "fail") instance.fail();
    else instance.request(1);
    assertEquals([world.admitted.length, world.refused], [end === "request" ? 101 : 100, 0], end);
  }
});

Deno.test("shared: a lease is late after three times the mean, within a range", () => {
  const time = new LeaseTime();
  assertEquals(time.lateMs, 1_000);
  time.observe(2);
  assertEquals(time.lateMs, 150);
  for (let n = 0; n < 50; n++) time.observe(180);
  assert(Math.abs(time.lateMs - 540) < 1, `${time.lateMs}`);
  for (let n = 0; n < 50; n++) time.observe(2_000);
  assertEquals(time.lateMs, 1_000);
});

Deno.test("shared: while the store hangs or fails an instance uses its own bucket", () => {
  const world = newWorld(FREE);
  const instance = new SharedInstance(world);
  assertEquals(instance.ask(500), sliceOf(FREE));
  world.nowMs += LATE_MS;
  assertEquals(instance.ask(500), 0);
  world.nowMs += 50;
  // The other 180, plus the refill of a fifth of a second.
  assertEquals(instance.ask(500), 200);
  instance.fail();
  for (let ms = 0; ms < LOCAL_ONLY_MS; ms += 500) {
    world.nowMs += 500;
    assert(instance.ask(500) >= 49, `after ${ms} ms`);
    if (instance.leasing) instance.fail();
  }
  // The store answers again: the slice counts from then on.
  instance.ask(1);
  world.nowMs += 1_000;
  instance.ask(1);
  instance.finish();
  world.nowMs += 2_000;
  assertEquals(instance.ask(500), sliceOf(FREE));
});
