/**
 * The request rate of teams: a bucket for each, over all its keys (contract 12,
 * decision 36).
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

/** The rates that one set of buckets is filled at. */
export interface RateRules {
  /** By plan; `null` for no limit. */
  readonly tiers: Readonly<Record<Tier, Rate | null>>;
  /** Returns the rate of a team that has a request rate of its own; null for that of its plan. */
  readonly own: (requests: Rate) => Rate | null;
}

/** Multiplies a rate. */
function times({ sustained, burst }: Rate, factor: number): Rate {
  return { sustained: sustained * factor, burst: burst * factor };
}

/** Rates of all plans by one rule. */
function byTier(rateOf: (tier: Tier) => Rate | null): RateRules["tiers"] {
  const rates = TIER_NAMES.map((tier) => [tier, rateOf(tier)] as const);
  return Object.fromEntries(rates) as Record<Tier, Rate | null>;
}

/** The request rate of a plan; `null` where it has none. */
function requestsOf(tier: Tier): Rate | null {
  const { requestsPerSecond: sustained, burst } = TIERS[tier];
  return sustained === Infinity ? null : { sustained, burst };
}

/** Requests of agents (decision 36). */
const INGEST: RateRules = { tiers: byTier(requestsOf), own: (requests) => requests };

/** Reads and management, in tokens: a request takes one, and what it reads is debited afterwards. */
function control(factor: number): RateRules {
  const business = requestsOf("business") ?? { sustained: 0, burst: 0 };
  return {
    tiers: byTier((tier) =>
      times(requestsOf(tier) ?? times(business, ENTERPRISE_CONTROL_FACTOR), factor)
    ),
    own: (requests) => times(requests, factor),
  };
}

/** What the control API has (decision 36). */
export const CONTROL: RateRules = control(CONTROL_RATE_FACTOR);

/** Bytes of bodies, inflated. */
const BYTES: RateRules = {
  tiers: byTier((tier) => {
    const { bytesPerSecond: sustained } = TIERS[tier];
    return sustained === Infinity ? null : { sustained, burst: sustained * BYTES_BURST_SECONDS };
  }),
  own: () => null,
};

/** Returns the tokens that reads cost beyond the request's own token. */
export function tokensOf({ rows, bytes }: Pick<ReadScope, "rows" | "bytes">): number {
  return rows / READ_TOKEN.rows + bytes / 1_024 / READ_TOKEN.kib;
}

/** The parts of the API that have buckets of their own. */
export type Api = "ingest" | "control";

/** Makes the bucket of a team that has not asked yet. */
export type NewBucket = (team: TeamId, rate: Rate, nowMs: number) => TokenBucket;

/** The buckets of all teams for one part of the API. */
export class RateLimiter {
  readonly #rules: RateRules;
  readonly #teamsMax: number;
  readonly #newBucket: NewBucket;
  // Two generations: whoever is asked for moves into the young one, and the old one goes when that
  // is full. One look-up a request, which is cheaper than an order by last use.
  #young = new Map<TeamId, TokenBucket>();
  #old = new Map<TeamId, TokenBucket>();

  /**
   * Creates buckets for teams that have not asked yet.
   *
   * @param rules the rates of plans and of teams that have their own
   * @param teamsMax teams that a bucket is surely remembered for; a forgotten one is full again
   * @param newBucket buckets that are shared with other instances; by default nobody else has them
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

  /** The bucket that a team's request takes its token from; `null` for a team without a limit. */
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

  /** Buckets that are remembered. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Makes a team young: with the bucket it had, or with a full one. */
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

/** Everything requests are counted by. In memory, where no other instance shares the buckets. */
export interface RequestLimits {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** What agents send. */
  readonly ingest: RateLimiter;
  /** Reads and management: a bucket of their own, so that neither starves the other. */
  readonly control: RateLimiter;
  /** Reads and management by pages, once {@link control} has nothing left for them. */
  readonly dashboard: RateLimiter;
  /** Bytes of bodies that agents send; a token is a byte. */
  readonly bytes: RateLimiter;
}

/**
 * Creates limits that nobody has used yet.
 *
 * @param newBucketFor makes the buckets of a part of the API that are shared with other instances
 * @param memory how many bytes the buckets may take
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

/** Bytes of a bucket with its place in memory. */
const BUCKET_BYTES = 320;

/** Sets of buckets, and generations that each keeps. */
const LIMITERS = 4, GENERATIONS = 2;
