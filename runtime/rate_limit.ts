/**
 * Rate limits of teams: one bucket per team, shared by all its keys (contract 12, decision 36).
 *
 * @module
 */
import type { Team } from "../domain/teams/team.ts";
import type { TeamId } from "../domain/core/ids.ts";
import {
  BYTES_BURST_SECONDS,
  CONTROL_RATE_FACTOR,
  DASHBOARD_RESERVE,
  ENTERPRISE_CONTROL_FACTOR,
  RATE_TEAMS_MAX,
  READ_TOKEN,
} from "../domain/core/limits.ts";
import { Memory } from "./memory.ts";
import type { ReadScope } from "../domain/core/read_scope.ts";
import { type Rate, TIERS } from "../domain/teams/plans.ts";
import { TokenBucket } from "./token_bucket.ts";

/** Returns the rate of a team; null for no limit. */
export type RateRule = (team: Pick<Team, "tier" | "rate">) => Rate | null;

/** Multiplies a rate. */
function times({ sustained, burst }: Rate, factor: number): Rate {
  return { sustained: sustained * factor, burst: burst * factor };
}

/** Rate of ingest requests: the team's own, or its plan's (decision 36). */
const INGEST: RateRule = ({ rate, tier }) => {
  const { requestsPerSecond: sustained, burst } = TIERS[tier];
  return rate ?? (sustained === Infinity ? null : { sustained, burst });
};

/** Creates the rate of reads and management: a request takes one token, and its reads are debited. */
function control(factor: number): RateRule {
  const { requestsPerSecond: sustained, burst } = TIERS.business;
  const ofEnterprise = times({ sustained, burst }, ENTERPRISE_CONTROL_FACTOR);
  return (team) => times(INGEST(team) ?? ofEnterprise, factor);
}

/** Rate of the control API (decision 36). */
export const CONTROL: RateRule = control(CONTROL_RATE_FACTOR);

/** Rate of body bytes, decompressed. */
const BYTES: RateRule = ({ tier }) => {
  const { bytesPerSecond: sustained } = TIERS[tier];
  return sustained === Infinity ? null : { sustained, burst: sustained * BYTES_BURST_SECONDS };
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
  readonly #rule: RateRule;
  readonly #teamsMin: number;
  readonly #newBucket: NewBucket;
  /** Least recently used first. */
  readonly #buckets = new Map<TeamId, TokenBucket>();

  /**
   * Creates a limiter without buckets.
   *
   * @param teamsMin minimum number of teams whose buckets are kept; an evicted bucket is full again
   * @param newBucket creates buckets, possibly shared with other instances; local by default
   */
  constructor(
    rule: RateRule = INGEST,
    teamsMin = RATE_TEAMS_MAX,
    newBucket: NewBucket = (_, rate, nowMs) => new TokenBucket(rate, nowMs),
  ) {
    this.#rule = rule;
    this.#teamsMin = teamsMin;
    this.#newBucket = newBucket;
  }

  /** Returns the bucket of a team; `null` for a team without a limit. */
  bucketOf(team: Team, nowMs: number): TokenBucket | null {
    const rate = this.#rule(team);
    if (rate === null) return null;
    const bucket = this.#buckets.get(team.id) ?? this.#newBucket(team.id, rate, nowMs);
    this.#buckets.delete(team.id);
    this.#buckets.set(team.id, bucket);
    if (this.#buckets.size > MAX_OVER_MIN * this.#teamsMin) this.#evict();
    const { sustained, burst } = bucket.rate;
    if (sustained !== rate.sustained || burst !== rate.burst) bucket.changeRate(rate);
    return bucket;
  }

  /** Removes many buckets at once: finding the first key takes longer the more keys were deleted. */
  #evict(): void {
    for (const id of this.#buckets.keys()) {
      if (this.#buckets.size <= this.#teamsMin) return;
      this.#buckets.delete(id);
    }
  }

  /** Number of buckets in memory. */
  get size(): number {
    return this.#buckets.size;
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
    memory.bytesMax("rate_buckets") / (LIMITERS * MAX_OVER_MIN * BUCKET_BYTES),
  );
  const teamsMin = Math.min(RATE_TEAMS_MAX, fits);
  const limiters = {
    ingest: new RateLimiter(INGEST, teamsMin, newBucketFor("ingest")),
    control: new RateLimiter(CONTROL, teamsMin, newBucketFor("control")),
    dashboard: new RateLimiter(control(CONTROL_RATE_FACTOR * DASHBOARD_RESERVE), teamsMin),
    bytes: new RateLimiter(BYTES, teamsMin),
  };
  memory.register(
    "rate_buckets",
    () => Object.values(limiters).reduce((bytes, { size }) => bytes + BUCKET_BYTES * size, 0),
  );
  return { now, ...limiters };
}

/** Estimated bytes of a bucket with its map entry. */
const BUCKET_BYTES = 320;

/** Number of limiters, and the maximum of their buckets as a multiple of the minimum. */
const LIMITERS = 4, MAX_OVER_MIN = 2;
