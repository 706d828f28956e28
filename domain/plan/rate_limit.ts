/**
 * The request rate of teams: a bucket for each, over all its keys (spec, Request rate per team;
 * decision 36).
 *
 * @module
 */
import type { Team, TeamId } from "../credentials.ts";
import { CONTROL_RATE_FACTOR, RATE_TEAMS_MAX } from "../limits.ts";
import { type Tier, TIER_NAMES, TIERS } from "./tiers.ts";
import { FailedTries } from "./failed_tries.ts";
import { type Rate, TokenBucket } from "./token_bucket.ts";

/** The rate of a plan, `null` where it has none, times a factor. */
function rateOfTier(tier: Tier, factor: number): Rate | null {
  const { requestsPerSecond: sustained, burst } = TIERS[tier];
  return sustained === Infinity ? null : { sustained: sustained * factor, burst: burst * factor };
}

/** The parts of the API that have buckets of their own. */
export type Api = "ingest" | "control";

/** Makes the bucket of a team that has not asked yet. */
export type NewBucket = (team: TeamId, rate: Rate, nowMs: number) => TokenBucket;

/** The buckets of all teams for one part of the API. */
export class RateLimiter {
  readonly #factor: number;
  readonly #teamsMax: number;
  readonly #newBucket: NewBucket;
  readonly #tiers: Readonly<Record<Tier, Rate | null>>;
  // Two generations: whoever is asked for moves into the young one, and the old one goes when that
  // is full. One look-up a request, which is cheaper than an order by last use.
  #young = new Map<TeamId, TokenBucket>();
  #old = new Map<TeamId, TokenBucket>();

  /**
   * Creates buckets for teams that have not asked yet.
   *
   * @param factor what the rates of the plans and of teams are multiplied with
   * @param teamsMax teams that a bucket is surely remembered for; a forgotten one is full again
   * @param newBucket buckets that are shared with other instances; by default nobody else has them
   */
  constructor(
    factor = 1,
    teamsMax = RATE_TEAMS_MAX,
    newBucket: NewBucket = (_, rate, nowMs) => new TokenBucket(rate, nowMs),
  ) {
    this.#factor = factor;
    this.#teamsMax = teamsMax;
    this.#newBucket = newBucket;
    const rates = TIER_NAMES.map((tier) => [tier, rateOfTier(tier, factor)]);
    this.#tiers = Object.fromEntries(rates);
  }

  /** The bucket that a team's request takes its token from; `null` for a team without a limit. */
  bucketOf(team: Team, nowMs: number): TokenBucket | null {
    const { rate } = team;
    const plan = this.#tiers[team.tier];
    if (rate === undefined && plan === null) return null;
    const sustained = rate === undefined ? plan?.sustained ?? 0 : rate.sustained * this.#factor;
    const burst = rate === undefined ? plan?.burst ?? 0 : rate.burst * this.#factor;
    const bucket = this.#young.get(team.id) ?? this.#admit(team.id, { sustained, burst }, nowMs);
    if (bucket.rate.sustained !== sustained || bucket.rate.burst !== burst) {
      bucket.changeRate({ sustained, burst });
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
  /** Credentials that did not work. */
  readonly failures: FailedTries;
}

/**
 * Creates limits that nobody has used yet.
 *
 * @param newBucketFor makes the buckets of a part of the API that are shared with other instances
 */
export function createRequestLimits(
  now: () => number,
  newBucketFor: (api: Api) => NewBucket | undefined = () => undefined,
): RequestLimits {
  return {
    now,
    ingest: new RateLimiter(1, RATE_TEAMS_MAX, newBucketFor("ingest")),
    control: new RateLimiter(CONTROL_RATE_FACTOR, RATE_TEAMS_MAX, newBucketFor("control")),
    failures: new FailedTries(),
  };
}
