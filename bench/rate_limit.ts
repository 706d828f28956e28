/**
 * What the request rate costs a request: prints the median microseconds of its parts.
 *
 * Usage: rate_limit.ts [TEAMS]
 */
import type { Team } from "../domain/teams/team.ts";
import type { TeamId } from "../domain/core/ids.ts";
import { createRequestLimits, RateLimiter } from "../domain/teams/rate_limit.ts";
import { type BucketRow, SharedBucket } from "../domain/teams/shared_bucket.ts";
import { RATE_TEAMS_MAX } from "../domain/core/limits.ts";
import { TIER_NAMES } from "../domain/teams/plans.ts";
import type { RequestContext } from "../routes/http/context.ts";
import { answerText } from "../routes/http/answer.ts";
import { limitRate } from "../routes/http/rate.ts";
import { print } from "./say.ts";
import { median } from "./stats.ts";

const CALLS = 50_000;
const ROUNDS = 15;

const [teamCount = "1000"] = Deno.args;
const teams = Array.from({ length: Number(teamCount) }, (_, n): Team => {
  const tier = TIER_NAMES[n % 4] ?? "free";
  return { id: `01J${String(n).padStart(23, "0")}` as TeamId, name: "bench", tier };
});

/** As much of a context as the guard asks for, at what it costs in the real one: a map. */
function contextOf(team: Team): RequestContext {
  const facts = new Map<string, unknown>([["principal", { team }]]);
  const context = {
    get: (name: string) => facts.get(name),
    set: (name: string, value: unknown) => void facts.set(name, value),
  };
  return context as unknown as RequestContext;
}

const contexts = teams.map(contextOf);
const limiter = new RateLimiter();
/** Buckets that lease from rows, which are in memory here: a request never waits for the store. */
const sharing = new RateLimiter(undefined, RATE_TEAMS_MAX, (_, rate, nowMs) => {
  let row: BucketRow | null = null;
  return new SharedBucket(rate, nowMs, 0, (bucket) => {
    if (!bucket.begin(fakeMs)) return;
    const lease = bucket.lease(row, fakeMs);
    row = lease.row;
    bucket.settle(lease, fakeMs);
    leases++;
  });
});
let leases = 0;
/** Requests as fast as they come would be refused: a clock that gives every team its tokens. */
let fakeMs = 0;
const guard = limitRate({ limits: createRequestLimits(() => fakeMs += 20) }, "ingest");
/** What calls add to, so that none is without an effect. */
let admitted = 0;

/** Prints the median over the rounds, in microseconds a call; the first round only warms up. */
function measure(what: string, call: (n: number) => void): void {
  const rounds = Array.from({ length: ROUNDS + 1 }, () => {
    const startedMs = performance.now();
    for (let n = 0; n < CALLS; n++) call(n);
    return (performance.now() - startedMs) * 1_000 / CALLS;
  });
  print(`${what.padEnd(38)} ${median(rounds.slice(1)).toFixed(3)} µs`);
}

measure("an empty call", (n) => void (admitted += n & 1));
measure("reading the clock", () => void (admitted += performance.now() & 1));
measure("finding a bucket and taking a token", (n) => {
  const nowMs = fakeMs += 20;
  const team = teams[n % teams.length];
  if (team !== undefined && limiter.bucketOf(team, nowMs)?.take(nowMs)) admitted++;
});
measure("the same with leased slices", (n) => {
  const nowMs = fakeMs += 20;
  const team = teams[n % teams.length];
  if (team !== undefined && sharing.bucketOf(team, nowMs)?.take(nowMs)) admitted++;
});
if (leases === 0) throw new Error("Nothing was leased");
measure("an admitted request, headers built", (n) => {
  const context = contexts[n % contexts.length];
  if (context !== undefined && guard(context) === null) admitted++;
});
const [plain, limited] = [new Map(), new Map(Object.entries({ rate: '"ingest";r=199;t=1' }))]
  .map((facts) => facts.set("requestId", "bench-1").set("ratePolicy", '"ingest";q=200;w=2'))
  .map((facts) => ({ get: (name: string) => facts.get(name) }) as unknown as RequestContext);
if (plain === undefined || limited === undefined) throw new Error("A context is missing");
measure(
  "an answer without the headers",
  () => void (admitted += answerText(plain, 202, "").status),
);
measure("an answer with the headers", () => void (admitted += answerText(limited, 202, "").status));
