/** How fast a team may ask, and what every answer tells about it (decisions 36 and 37). */
import type { Api } from "../../domain/plan/rate_limit.ts";
import type { Rate, TokenBucket } from "../../domain/plan/token_bucket.ts";
import { fail } from "../answer.ts";
import type { AppDeps, Guard, RequestContext } from "../context.ts";

/** Lets a request through when its team's bucket has a token; without a limit nothing is told. */
export function limitRate({ limits }: Pick<AppDeps, "limits">, api: Api): Guard {
  const limiter = limits[api];
  // A policy is written once for each rate: it is the same text on millions of answers.
  const policies = new WeakMap<Rate, string>();

  function policyOf(rate: Rate): string {
    let policy = policies.get(rate);
    if (policy === undefined) policies.set(rate, policy = policyText(api, rate));
    return policy;
  }

  return (c) => {
    const nowMs = limits.now();
    const bucket = limiter.bucketOf(c.get("principal").team, nowMs);
    if (bucket === null) return null;
    const taken = bucket.take(nowMs);
    c.set("ratePolicy", policyOf(bucket.rate));
    c.set("rate", `"${api}";r=${bucket.remaining};t=${bucket.moreAfterSeconds}`);
    return taken ? null : refuseRate(c, bucket);
  };
}

/** The policy as a structured field: a full bucket, and the seconds that fill an empty one. */
function policyText(api: Api, { sustained, burst }: Rate): string {
  return `"${api}";q=${Math.floor(burst)};w=${Math.ceil(burst / sustained)}`;
}

/** Says when to come back after a spike; to who never stops it says to slow down instead. */
function refuseRate(c: RequestContext, bucket: TokenBucket): Response {
  const { rate: { sustained, burst }, moreAfterSeconds: wait, askedTooMuch } = bucket;
  const limit = `The team's limit is ${sustained} requests/s with bursts of ${burst}`;
  const message = askedTooMuch
    ? `${limit}, and it asks for more all the time: slow down, then retry after ${wait} s or more`
    : `${limit}: retry after ${wait} s`;
  return fail(c, { code: "rate_limit", message }, askedTooMuch ? {} : retryAfter(wait));
}

/** How long to wait, for clients. */
function retryAfter(seconds: number): Record<string, string> {
  return { "Retry-After": String(seconds) };
}
