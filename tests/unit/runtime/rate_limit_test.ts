/** The bucket against a model of the contract, on a test clock. */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import {
  CONTROL,
  createRequestLimits,
  MEAN_SECONDS,
  RateLimiter,
  TokenBucket,
} from "../../../runtime/rate_limit.ts";
import { type Rate, type Tier, TIER_NAMES } from "../../../domain/teams/plans.ts";

import fc from "fast-check";

/** Rates of plans and teams, and a very slow one. */
const rates = fc.record({
  sustained: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(0.5, 100, 2_000)),
  burst: fc.integer({ min: 1, max: 50 }),
});
/** Microseconds between requests: none, few, up to seconds; the clock may stop or move back. */
const gapsUs = fc.array(
  fc.oneof(
    fc.constant(0),
    fc.integer({ min: -5_000, max: 50_000 }),
    fc.integer({ min: 0, max: 3_000_000 }),
  ),
  { minLength: 50, maxLength: 150, size: "max" },
);

/** Times of requests after these gaps, in milliseconds. */
function timesOf(gaps: readonly number[]): number[] {
  let us = 1_000_000;
  return gaps.map((gap) => (us += gap) / 1_000);
}

/**
 * The contract in integers: a request is admitted exactly if every window that ends with it has at
 * most the burst plus the refill since the window began.
 */
function promised(rate: Rate, times: readonly number[]): boolean[] {
  const admitted: number[] = [];
  let nowUs = 0;
  return times.map((ms) => {
    nowUs = Math.max(nowUs, Math.round(ms * 1_000));
    const fits = [...admitted, nowUs].every((fromUs, i, all) =>
      (all.length - i) * 1_000_000 <= rate.burst * 1_000_000 + (nowUs - fromUs) * rate.sustained
    );
    if (fits) admitted.push(nowUs);
    return fits;
  });
}

Deno.test("decision 36: a bucket never refuses below its rate and never admits above it", () => {
  fc.assert(
    fc.property(rates, gapsUs, (rate, gaps) => {
      const times = timesOf(gaps);
      const bucket = new TokenBucket(rate, times[0] ?? 0);
      assertEquals(times.map((ms) => bucket.take(ms)), promised(rate, times));
    }),
    { numRuns: 500 },
  );
});

Deno.test("decision 36: a team within its sustained rate is never refused", () => {
  for (const sustained of [1, 3, 100, 2_000]) {
    const bucket = new TokenBucket({ sustained, burst: 1 }, 0);
    const stepUs = Math.ceil(1_000_000 / sustained);
    for (let n = 0; n < 100_000; n++) assert(bucket.take(n * stepUs / 1_000), `${sustained}: ${n}`);
  }
});

Deno.test("decision 36: the refill is exact to the microsecond", () => {
  const bucket = new TokenBucket({ sustained: 100, burst: 200 }, 0);
  for (let n = 0; n < 200; n++) assert(bucket.take(0));
  assertEquals([bucket.remaining, bucket.take(0), bucket.take(9.999)], [0, false, false]);
  assertEquals([bucket.take(10), bucket.take(10)], [true, false]);
  // Full again after two seconds, and never more than full.
  assertEquals([bucket.take(2_010), bucket.remaining], [true, 199]);
  assertEquals([bucket.take(999_999_999), bucket.remaining], [true, 199]);
});

Deno.test("decision 37: the wait is in full seconds, at least 1, and long enough", () => {
  fc.assert(
    fc.property(rates, fc.integer({ min: 0, max: 10_000_000 }), (rate, laterUs) => {
      const bucket = new TokenBucket(rate, 0);
      for (let n = 0; n < rate.burst; n++) bucket.take(0);
      const atMs = laterUs / 1_000;
      while (bucket.take(atMs));
      const wait = bucket.retryAfterSeconds;
      assert(Number.isInteger(wait) && wait >= 1);
      assert(bucket.take(atMs + wait * 1_000), "the wait was too short");
      assert(wait === 1 || wait - 1 < 1 / rate.sustained, "the wait was a second too long");
    }),
  );
});

Deno.test("decision 37: the ten-second mean counts refused requests and forgets older ones", () => {
  const rate = { sustained: 10, burst: 20 };
  const bucket = new TokenBucket(rate, 0);
  const most = rate.sustained * MEAN_SECONDS;
  for (let n = 0; n < most; n++) bucket.take(0);
  assertEquals(bucket.exceedsMeanRate, false);
  bucket.take(0);
  assertEquals(bucket.exceedsMeanRate, true);
  bucket.take(9_999);
  assertEquals(bucket.exceedsMeanRate, true);
  bucket.take(10_000);
  assertEquals(bucket.exceedsMeanRate, false);
  // Ten seconds without a pause, then a rest of any length: only the last ten seconds count.
  for (let second = 11; second < 30; second++) {
    for (let n = 0; n < 11; n++) bucket.take(second * 1e3);
  }
  assertEquals(bucket.exceedsMeanRate, true);
  bucket.take(86_400_000);
  assertEquals(bucket.exceedsMeanRate, false);
});

function team(id: string, tier: Tier, rate?: Rate): Team {
  return { id: id as TeamId, name: id, tier, ...(rate === undefined ? {} : { rate }) };
}

/** Counts the requests that a team may send at one instant, up to a number above every plan. */
function drain(limiter: RateLimiter, of: Team, nowMs = 0): number {
  for (let n = 0; n < 20_000; n++) if (limiter.bucketOf(of, nowMs)?.take(nowMs) === false) return n;
  return Infinity;
}

Deno.test("decision 36: a team's own rate overrides its plan's, also if the plan has none", () => {
  const limiter = new RateLimiter();
  assertEquals(limiter.bucketOf(team("e", "enterprise"), 0), null);
  assertEquals(drain(limiter, team("e", "enterprise", { sustained: 5, burst: 7 })), 7);
  assertEquals(drain(limiter, team("f", "free", { sustained: 300, burst: 600 })), 600);
  assertEquals(
    drain(new RateLimiter(CONTROL), team("f", "free", { sustained: 300, burst: 600 })),
    1_200,
  );
});

Deno.test("decision 36: after a plan change the bucket refills at the new rate without free tokens", () => {
  const limiter = new RateLimiter();
  assertEquals(drain(limiter, team("t", "business")), 5_000);
  assertEquals(drain(limiter, team("t", "free"), 1_000), 100);
  assertEquals(drain(limiter, team("t", "team"), 2_000), 500);
});

Deno.test("the promised number of teams is kept, and an active team is never evicted", () => {
  const limiter = new RateLimiter(undefined, 10);
  const busy = team("busy", "free");
  assertEquals(drain(limiter, busy), 200);
  for (let n = 0; n < 100; n++) {
    assertEquals(limiter.bucketOf(team(`other ${n}`, "free"), 0)?.take(0), true);
    if (n % 9 === 0) assertEquals(limiter.bucketOf(busy, 0)?.take(0), false, `after ${n}`);
  }
  for (let n = 0; n < 9; n++) limiter.bucketOf(team(`new ${n}`, "free"), 0);
  assertEquals(limiter.bucketOf(busy, 0)?.remaining, 0);
  // After two generations of other teams its bucket is full, as after a rest.
  for (let n = 0; n < 20; n++) limiter.bucketOf(team(`newer ${n}`, "free"), 0);
  assertEquals(limiter.bucketOf(busy, 0)?.remaining, 200);
});

Deno.test("rates of reads: enterprise has 10 times the business rates, unless it has its own", () => {
  const control = new RateLimiter(CONTROL);
  assertEquals(control.bucketOf(team("e", "enterprise"), 0)?.rate, {
    sustained: 40_000,
    burst: 100_000,
  });
  const own = team("o", "enterprise", { sustained: 5, burst: 10 });
  assertEquals(control.bucketOf(own, 0)?.rate, { sustained: 10, burst: 20 });
});

Deno.test("rates of bytes: by plan, with a burst of 64 s, none for enterprise", () => {
  const { bytes } = createRequestLimits(() => 0);
  const rates = TIER_NAMES.map((tier) => bytes.bucketOf(team(tier, tier), 0)?.rate ?? null);
  const rate = (sustained: number) => ({ sustained, burst: 64 * sustained });
  const [one, five, twenty] = [1_000_000, 5_000_000, 20_000_000].map(rate);
  assertEquals(rates, [one, one, five, twenty, null] as typeof rates);
});
