/**
 * Rate limits of teams: one bucket per team, shared by all its keys (contract 12, decision 36).
 *
 * @module
 */
import type { Team } from "./team.ts";
import type { TeamId } from "../core/ids.ts";
import {
  BYTES_BURST_SECONDS,
  CONTROL_RATE_FACTOR,
  DASHBOARD_RESERVE,
  ENTERPRISE_CONTROL_FACTOR,
  RATE_TEAMS_MAX,
  READ_TOKEN,
} from "../core/limits.ts";
import { Memory } from "../core/memory.ts";
import type { ReadScope } from "../core/read_scope.ts";
import { type Tier, TIER_NAMES, TIERS } from "./plans.ts";
import { type Rate, TokenBucket } from "../core/token_bucket.ts";

/** Refill rates of one set of buckets. */
export interface RateRules {
  /** By plan; `null` for no limit. */
  readonly tiers: Readonly<Record<Tier, Rate | null>>;
  /** Returns the rate of a team with its own request rate; null to use the plan's rate. */
  readonly own: (requests: Rate) => Rate | null;
}

/** Multiplies a rate. */
function times({ sustained, burst }: Rate, factor: number): Rate {
  return { sustained: sustained * factor, burst: burst * factor };
}

/** Computes the rates of all plans. */
function byTier(rateOf: (tier: Tier) => Rate | null): RateRules["tiers"] {
  const rates = TIER_NAMES.map((tier) => [tier, rateOf(tier)] as const);
  return Object.fromEntries(rates) as Record<Tier, Rate | null>;
}

/** Returns the request rate of a plan; `null` for no limit. */
function requestsOf(tier: Tier): Rate | null {
  const { requestsPerSecond: sustained, burst } = TIERS[tier];
  return sustained === Infinity ? null : { sustained, burst };
}

/** Rates of ingest requests (decision 36). */
const INGEST: RateRules = { tiers: byTier(requestsOf), own: (requests) => requests };

/** Rates of reads and management: a request takes one token, and its reads are debited afterwards. */
function control(factor: number): RateRules {
  const business = requestsOf("business") ?? { sustained: 0, burst: 0 };
  return {
    tiers: byTier((tier) =>
      times(requestsOf(tier) ?? times(business, ENTERPRISE_CONTROL_FACTOR), factor)
    ),
    own: (requests) => times(requests, factor),
  };
}

/** Rates of the control API (decision 36). */
export const CONTROL: RateRules = control(CONTROL_RATE_FACTOR);

/** Rates of body bytes, decompressed. */
const BYTES: RateRules = {
  tiers: byTier((tier) => {
    const { bytesPerSecond: sustained } = TIERS[tier];
    return sustained === Infinity ? null : { sustained, burst: sustained * BYTES_BURST_SECONDS };
  }),
  own: () => null,
};

/** Returns the tokens that reads cost in addition to the request's token. */
export function tokensOf({ rows, bytes }: Pick<ReadScope, "rows" | "bytes">): number {
  return rows / READ_TOKEN.rows + bytes / 1_024 / READ_TOKEN.kib;
}

/** Parts of the API with separate buckets. */
export type Api = "ingest" | "control";

/** Creates the bucket of a team at its first request. */
export type NewBucket = (team: TeamId, rate: Rate, nowMs: number) => TokenBucket;

/** Buckets of all teams for one part of the API. */
export class RateLimiter {
  readonly #rules: RateRules;
  readonly #teamsMax: number;
  readonly #newBucket: NewBucket;
  // Two generations: a team in use moves to the young one, and the old one is dropped when the young
  // one is full. This takes one lookup per request, cheaper than an exact LRU order.
  #young = new Map<TeamId, TokenBucket>();
  #old = new Map<TeamId, TokenBucket>();

  /**
   * Creates a limiter without buckets.
   *
   * @param rules rates of plans, and of teams with their own rate
   * @param teamsMax minimum number of teams whose buckets are kept; an evicted bucket is full again
   * @param newBucket creates buckets, possibly shared with other instances; local by default
   */
  constructor(
    rules: RateRules = INGEST,
    teamsMax = RATE_TEAMS_MAX,
    newBucket: NewBucket = (_, rate, nowMs) => new TokenBucket(rate, nowMs),
  ) {
    this.#rules = rules;
    this.#teamsMax = teamsMax;
    this.#newBucket = newBucket;
  }

  /** Returns the bucket of a team; `null` for a team without a limit. */
  bucketOf(team: Team, nowMs: number): TokenBucket | null {
    const { tiers, own } = this.#rules;
    const rate = (team.rate === undefined ? null : own(team.rate)) ?? tiers[team.tier];
    if (rate === null) return null;
    const { sustained, burst } = rate;
    const bucket = this.#young.get(team.id) ?? this.#admit(team.id, rate, nowMs);
    if (bucket.rate.sustained !== sustained || bucket.rate.burst !== burst) {
      bucket.changeRate(rate);
    }
    return bucket;
  }

  /** Number of buckets in memory. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Moves a team to the young generation, with its existing bucket or a full one. */
  #admit(id: TeamId, rate: Rate, nowMs: number): TokenBucket {
    const bucket = this.#old.get(id) ?? this.#newBucket(id, rate, nowMs);
    if (this.#young.size >= this.#teamsMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, bucket);
    return bucket;
  }
}

/** All rate limiters. Buckets are in memory unless they are shared with other instances. */
export interface RequestLimits {
  /** Returns milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Ingest requests. */
  readonly ingest: RateLimiter;
  /** Reads and management, in a separate bucket so that neither API starves the other. */
  readonly control: RateLimiter;
  /** Reserve for dashboard pages, used when {@link control} is empty. */
  readonly dashboard: RateLimiter;
  /** Ingest body bytes; a token is a byte. */
  readonly bytes: RateLimiter;
}

/**
 * Creates the rate limiters.
 *
 * @param newBucketFor returns the factory of an API's buckets shared with other instances
 * @param memory the budget that limits the bytes of the buckets
 */
export function createRequestLimits(
  now: () => number,
  newBucketFor: (api: Api) => NewBucket | undefined = () => undefined,
  memory: Memory = new Memory(),
): RequestLimits {
  const fits = Math.floor(
    memory.bytesMax("rate_buckets") / (LIMITERS * GENERATIONS * BUCKET_BYTES),
  );
  const teamsMax = Math.min(RATE_TEAMS_MAX, fits);
  const limiters = {
    ingest: new RateLimiter(INGEST, teamsMax, newBucketFor("ingest")),
    control: new RateLimiter(CONTROL, teamsMax, newBucketFor("control")),
    dashboard: new RateLimiter(control(CONTROL_RATE_FACTOR * DASHBOARD_RESERVE), teamsMax),
    bytes: new RateLimiter(BYTES, teamsMax),
  };
  memory.register(
    "rate_buckets",
    () => Object.values(limiters).reduce((bytes, { size }) => bytes + BUCKET_BYTES * size, 0),
  );
  return { now, ...limiters };
}

/** Estimated bytes of a bucket with its map entry. */
const BUCKET_BYTES = 320;

/** Number of limiters, and of generations in each. */
const LIMITERS = 4, GENERATIONS = 2;
