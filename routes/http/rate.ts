/** Request and byte rates of teams, the cost of their reads, and the rate headers (decisions 36 and 37). */
import { setTimeout as sleep } from "node:timers/promises";
import { type Api, type TokenBucket, tokensOf } from "../../runtime/rate_limit.ts";
import type { Rate } from "../../domain/teams/plans.ts";
import { ReadScope } from "../../domain/core/read_scope.ts";
import { fail } from "./answer.ts";
import type { AppDeps, Guard, Handle, RequestContext } from "./context.ts";

/**
 * Lets a request through if its team's bucket has a token; without a limit no headers are set. A
 * request may wait for a bucket that is shared with other instances.
 *
 * @param reserve falls back to a small bucket reserved for dashboard pages
 */
export function limitRate(
  { limits }: Pick<AppDeps, "limits">,
  api: Api,
  { reserve = false }: { readonly reserve?: boolean } = {},
): Guard {
  // Each rate's policy is formatted once: millions of responses carry the same text.
  const policies = new WeakMap<Rate, string>();

  function policyOf(rate: Rate): string {
    let policy = policies.get(rate);
    if (policy === undefined) policies.set(rate, policy = policyText(api, rate));
    return policy;
  }

  /** Reports the bucket's state, and refuses a request without a token. */
  function decide(c: RequestContext, bucket: TokenBucket, hasToken: boolean): Response | null {
    c.set("bucket", bucket);
    c.set("ratePolicy", policyOf(bucket.rate));
    c.set("rate", `"${api}";r=${bucket.remaining};t=${bucket.retryAfterSeconds}`);
    return hasToken ? null : refuseRate(c, bucket);
  }

  return (c) => {
    const nowMs = limits.now();
    const { team } = c.get("principal");
    const bucket = limits[api].bucketOf(team, nowMs);
    if (bucket === null) return null;
    return bucket.request(nowMs, (hasToken) => {
      const spare = hasToken || !reserve ? null : limits.dashboard.bucketOf(team, nowMs);
      return spare?.take(nowMs) ? decide(c, spare, true) : decide(c, bucket, hasToken);
    });
  };
}

/**
 * Runs a handler and counts its reads, which are debited from the bucket that the request took its token
 * from. Reads are cancelled when the client disconnects.
 */
export function metered(deps: AppDeps, handle: Handle): Handle {
  return async (c) => {
    const { method, raw } = c.req;
    // A write is completed even if its client disconnects.
    const signal = method === "GET" || method === "HEAD" ? raw.signal : NEVER;
    return await debited(deps, c.get("bucket"), signal, async () => await handle(c));
  };
}

const NEVER: AbortSignal = new AbortController().signal;

/** Runs a read of a streamed response. */
export type PacedRead = <T>(signal: AbortSignal, read: () => Promise<T>) => Promise<T>;

/**
 * Creates the function that runs the reads of a streamed response. They are debited like other reads, but
 * never refused: each waits until the bucket is out of debt.
 */
export function paced(deps: AppDeps, c: RequestContext): PacedRead {
  const bucket: TokenBucket | undefined = c.get("bucket");
  return async (signal, read) => {
    const debtMs = bucket?.debtMs(deps.limits.now()) ?? 0;
    if (debtMs > 0) await sleep(debtMs, undefined, { signal });
    return await debited(deps, bucket, signal, read);
  };
}

/** Runs reads in their own scope and debits their cost. */
async function debited<T>(
  { reading, limits }: AppDeps,
  bucket: TokenBucket | undefined,
  signal: AbortSignal,
  read: () => Promise<T>,
): Promise<T> {
  const scope = new ReadScope(signal);
  try {
    return await reading.run(scope, read);
  } finally {
    bucket?.debit(tokensOf(scope), limits.now());
  }
}

/**
 * Refuses a request while its team's byte bucket is in debt.
 *
 * @param spareBursts bursts of debt up to which requests still pass, where a refused one would be lost
 */
export function limitBytes({ limits }: Pick<AppDeps, "limits">, spareBursts = 0): Guard {
  return (c) => {
    const nowMs = limits.now();
    const bucket = limits.bytes.bucketOf(c.get("principal").team, nowMs);
    const debtMs = bucket?.debtMs(nowMs) ?? 0;
    if (bucket === null || debtMs === 0) return null;
    const { sustained, burst } = bucket.rate;
    if (debtMs <= 1_000 * spareBursts * burst / sustained) return null;
    const wait = Math.ceil(debtMs / 1_000);
    const message = `The team's limit is ${sustained} bytes/s of request bodies with bursts of ` +
      `${burst}: retry after ${wait} s`;
    return fail(c, { code: "rate_limit", message }, retryAfter(wait));
  };
}

/** Debits the inflated bytes of a body. */
export function debitBytes(
  { limits }: Pick<AppDeps, "limits">,
  c: RequestContext,
  bytes: number,
): void {
  const nowMs = limits.now();
  limits.bytes.bucketOf(c.get("principal").team, nowMs)?.debit(bytes, nowMs);
}

/** Formats the policy as a structured field: the bucket's size, and the seconds to fill it. */
function policyText(api: Api, { sustained, burst }: Rate): string {
  return `"${api}";q=${Math.floor(burst)};w=${Math.ceil(burst / sustained)}`;
}

/**
 * Refuses a request, with a delay after a burst. If the team constantly exceeds its rate, the message
 * says to slow down instead.
 */
function refuseRate(c: RequestContext, bucket: TokenBucket): Response {
  const { rate: { sustained, burst }, retryAfterSeconds: wait, exceedsMeanRate } = bucket;
  const limit = `The team's limit is ${sustained} requests/s with bursts of ${burst}`;
  const message = exceedsMeanRate
    ? `${limit}, and it is constantly exceeded: slow down, then retry after ${wait} s or more`
    : `${limit}: retry after ${wait} s`;
  return fail(c, { code: "rate_limit", message }, exceedsMeanRate ? {} : retryAfter(wait));
}

function retryAfter(seconds: number): Record<string, string> {
  return { "Retry-After": String(seconds) };
}
