/** Rate limit buckets shared through a real KV, on a test clock. */
import { assert, assertEquals } from "@std/assert";
import { isShared, parseLocation } from "../../../kv/location.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { Instances, TEAM } from "../../support/fakes/rate_instances.ts";

Deno.test("decision 36: instances on one store share a team's bucket", async () => {
  for (const count of [1, 2, 4]) {
    await using t = await Instances.open(count);
    let admitted = 0;
    for (let ms = 0; ms < 10_000; ms += 20, t.timers.advance(20)) {
      // All send far more than the team may, and lease at the same time.
      for (let n = 0; n < count; n++) admitted += t.ask(n, 10);
      await t.idle();
    }
    const most = 200 + 1_000 + 20 * count;
    assert(admitted <= most && admitted >= 200 + 950, `${count}: ${admitted}`);
  }
});

Deno.test("decision 36: each part of the API has its own rows", async () => {
  await using t = await Instances.open(1);
  t.ask(0, 15);
  t.ask(0, 30, "control");
  await t.idle();
  const rows = await t.rows();
  assertEquals([rows.ingest?.units, rows.control?.units], [185_000_000, 370_000_000]);
});

/** Counts the operations of a KV and their maximum concurrency. */
function counted(kv: Deno.Kv, count: { total: number; now: number; most: number }): Deno.Kv {
  const watch = async <T>(work: Promise<T>): Promise<T> => {
    count.total++;
    count.most = Math.max(count.most, ++count.now);
    return await work.finally(() => count.now--);
  };
  return new Proxy(kv, {
    get(target, name) {
      if (name === "getMany") return (keys: Deno.KvKey[]) => watch(target.getMany(keys));
      if (name !== "atomic") return Reflect.get(target, name).bind(target);
      return () => {
        const operation = target.atomic();
        const commit = operation.commit.bind(operation);
        operation.commit = () => watch(commit());
        return operation;
      };
    },
  });
}

Deno.test("a bucket has one lease in flight, at a limited rate, and only while the team sends requests", async () => {
  const count = { total: 0, now: 0, most: 0 };
  await using t = await Instances.open(3, (kv) => counted(kv, count));
  assertEquals([t.ask(0, 1), count.total], [1, 0]);
  await t.flood(5_000);
  // Late timers: requests notice first that a lease is due, or the lease is in flight.
  t.timers.nowMs += 150;
  t.ask(0, 50);
  await t.idle();
  t.ask(1, 50);
  t.timers.advance(0);
  await t.idle();
  assert(t.timers.set.length <= 4, `${t.timers.set.length} timers`);
  assert(count.most <= 3, `${count.most} at once for three instances`);
  // A read and a commit each: every tenth of a second, and every ten tokens of the burst.
  assert(count.total > 200 && count.total <= 2 * (3 * 52 + 26), `${count.total}`);
  for (let ms = 0; ms < 2_000; ms += 100, await t.idle()) t.timers.advance(100);
  const before = count.total;
  t.timers.advance(60_000);
  await t.idle();
  assertEquals(count.total, before);
  // Every slice is full again.
  for (const n of [0, 1, 2]) assertEquals(t.ask(n, 20), 20);
});

Deno.test("an instance with a debt beyond the near refill pauses between its leases", async () => {
  const count = { total: 0, now: 0, most: 0 };
  await using t = await Instances.open(3, (kv) => counted(kv, count));
  t.team = { ...TEAM, rate: { sustained: 1, burst: 200 } };
  await t.flood(5_000);
  assert(count.total <= 2 * (3 * 7 + 26), `${count.total}`);
});

Deno.test("while the store fails an instance uses its own bucket, and shares again afterwards", async () => {
  let fault: Fault = "throw";
  await using t = await Instances.open(2, (kv) => faultKv(kv, () => fault));
  assertEquals([t.ask(0, 500), t.ask(1, 500)], [20, 20]);
  await t.idle();
  assertEquals([t.ask(0, 500), t.ask(1, 500)], [180, 180]);
  for (let n = 0; n < 8; n++) {
    t.timers.advance(1_000);
    assertEquals(t.ask(0, 500), 100, `second ${n}`);
    await t.idle();
  }
  fault = "none";
  for (let n = 0; n < 200; n++) {
    t.timers.advance(20);
    for (const i of [0, 1]) t.ask(i, 10);
    await t.idle();
  }
  let admitted = 0;
  for (let n = 0; n < 500; n++) {
    for (const i of [0, 1]) admitted += t.ask(i, 10);
    t.timers.advance(20);
    await t.idle();
  }
  assert(admitted >= 950 && admitted <= 1_000 + 2 * 20, `${admitted}`);
});

/** A KV with another way to read several keys. */
function withGetMany(getMany: (kv: Deno.Kv, keys: [Deno.KvKey]) => Promise<unknown>) {
  return (kv: Deno.Kv): Deno.Kv =>
    new Proxy(kv, {
      get: (target, name) =>
        name === "getMany"
          ? (keys: [Deno.KvKey]) => getMany(kv, keys)
          : Reflect.get(target, name).bind(target),
    });
}

Deno.test("while the store hangs, no request is refused for long", async () => {
  await using t = await Instances.open(1, withGetMany(() => new Promise<never>(() => {})));
  assertEquals(t.ask(0, 500), 20);
  // The first lease has no time to be compared with.
  t.timers.advance(1_001);
  assert(t.ask(0, 500) > 180);
  // Given up after the store's deadline; the next attempt backs off.
  t.timers.advance(2_000);
  await t.idle();
  assertEquals(t.ask(0, 500), 200);
  await t.idle();
});

Deno.test("tokens of a lease whose response was lost are paid twice, never admitted twice", async () => {
  let fault: Fault = "commit then throw";
  await using t = await Instances.open(1, (kv) => faultKv(kv, () => fault));
  t.ask(0, 10);
  await t.idle();
  fault = "none";
  t.timers.advance(1_000);
  t.ask(0, 1);
  await t.idle();
  assertEquals((await t.rows()).ingest?.units, 179_000_000);
});

Deno.test("a stopped instance takes no further lease", async () => {
  await using t = await Instances.open(1);
  for (let n = 0; n < 50; n++, t.timers.advance(1)) {
    t.ask(0, 20);
    await t.idle();
  }
  await t.slices[0]?.stop();
  const before = await t.rows();
  t.timers.advance(10_000);
  assert(t.ask(0, 500) <= 20);
  await t.idle();
  assertEquals(await t.rows(), before);
});

Deno.test("only a store with a URL is shared with other instances", () => {
  assertEquals(["./data/a.kv", ":memory:", "/http/a.kv"].map(parseLocation).map(isShared), [
    false,
    false,
    false,
  ]);
  assertEquals(["https://kv.example/x", "http://127.0.0.1:4512"].map(parseLocation).map(isShared), [
    true,
    true,
  ]);
});

for (const count of [1, 3]) {
  Deno.test(`decision 36: over 90 ms ${count} instances share a bucket, and a burst passes`, async () => {
    const { t, distance } = await Instances.openDistant(count, 90);
    await using _ = t;
    for (let n = 0; n < count; n++) t.request(n, Math.ceil(320 / count));
    await distance.pass(1_500);
    const burst = t.decided.admitted;
    assert(burst >= 200 && burst <= 200 + 20 * count, `${burst} of the burst`);
    for (let ms = 1_500; ms < 10_000; ms += 20) {
      for (let n = 0; n < count; n++) t.request(n, 5);
      await distance.pass(20);
    }
    const { admitted } = t.decided;
    assert(admitted >= 0.95 * 1_200 && admitted <= 1.1 * 1_200, `${admitted}`);
    await distance.pass(5_000);
    assertEquals(
      t.decided.admitted + t.decided.refused,
      count * (Math.ceil(320 / count) + 425 * 5),
    );
  });
}

Deno.test("while the store hangs, waiting requests use the instance's own bucket", async () => {
  await using t = await Instances.open(1, withGetMany(() => new Promise<never>(() => {})));
  t.request(0, 320);
  assertEquals(t.decided, { admitted: 20, refused: 120 });
  t.timers.advance(1_001);
  assertEquals(t.decided, { admitted: 200, refused: 120 });
  t.timers.advance(2_000);
  await t.idle();
});

Deno.test("a request whose lease conflicts again and again is refused after the store's deadline", async () => {
  let conflicts = true;
  const conflicting = withGetMany(async (kv, keys) => {
    const entries = await kv.getMany(keys);
    if (conflicts) await kv.set(keys[0], { units: 200_000_000, atUs: 0 });
    return entries;
  });
  const { t, distance } = await Instances.openDistant(1, 90, conflicting);
  await using _ = t;
  t.request(0, 100);
  await distance.pass(1_900);
  assertEquals(t.decided, { admitted: 20, refused: 0 });
  await distance.pass(200);
  assertEquals(t.decided, { admitted: 20, refused: 80 });
  conflicts = false;
  await distance.pass(5_000);
});
