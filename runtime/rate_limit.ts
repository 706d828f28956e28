/**
 * Rate limits of teams: one token bucket per team, shared by all its keys (contract 12, decision 36).
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
export type Api = "ingest" | "control" | "guard";

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
  /** Questions whether a run may start: never shared, and as large as {@link ingest}. */
  readonly guard: RateLimiter;
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
    guard: new RateLimiter(INGEST, teamsMin),
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
const LIMITERS = 5, MAX_OVER_MIN = 2;

/** Units of a token. One token per second is one unit per microsecond. */
export const UNITS_PER_TOKEN = 1_000_000;
const US_PER_SECOND = 1_000_000;

/** Window of the mean rate in seconds (decision 37). */
export const MEAN_SECONDS = 10;

/** Tokens of one team. A new bucket is full. */
export class TokenBucket {
  #rate: Rate;
  #units: number;
  #atUs: number;
  /** Requests in each second of the window, accepted or refused, indexed by the second modulo ten. */
  readonly #requests: number[] = Array(MEAN_SECONDS).fill(0);
  #second: number;

  /**
   * Creates a full bucket.
   *
   * @param nowMs milliseconds of a monotonic clock, here and in all methods
   */
  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#units = rate.burst * UNITS_PER_TOKEN;
    this.#atUs = Math.round(nowMs * 1_000);
    this.#second = Math.floor(this.#atUs / US_PER_SECOND);
  }

  /** Current rate limit. */
  get rate(): Rate {
    return this.#rate;
  }

  /** Takes one token for a request; returns false if none is left. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    this.#countRequest();
    if (this.#units < UNITS_PER_TOKEN) return false;
    this.#units -= UNITS_PER_TOKEN;
    return true;
  }

  /**
   * Takes one token for a request, possibly later.
   *
   * @param decide called with true if the request has its token; its result is returned
   */
  request<T>(nowMs: number, decide: (hasToken: boolean) => T): T | Promise<T> {
    return decide(this.take(nowMs));
  }

  /** Returns the whole tokens left at a time. */
  protected tokensAt(nowMs: number): number {
    this.#refill(nowMs);
    return Math.max(0, Math.floor(this.#units / UNITS_PER_TOKEN));
  }

  /** Debits the cost of a request beyond its first token; the level may fall below 0. */
  debit(tokens: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#units -= Math.round(tokens * UNITS_PER_TOKEN);
  }

  /** Returns the milliseconds until the level is 0 or above; 0 without a debt. */
  debtMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.#units >= 0 ? 0 : Math.ceil(-this.#units / this.#rate.sustained / 1_000);
  }

  /** Counts a request that is refused regardless of the level. */
  refuse(nowMs: number): false {
    this.#refill(nowMs);
    this.#countRequest();
    return false;
  }

  /** Lowers the level to at most `units`; a negative level is a debt that refills pay off. */
  lowerTo(units: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#units = Math.min(this.#units, units);
  }

  /** Whole tokens left after the last request. */
  get remaining(): number {
    return Math.max(0, Math.floor(this.#units / UNITS_PER_TOKEN));
  }

  /** Whole seconds, at least 1, from the last request until one more token is available. */
  get retryAfterSeconds(): number {
    const part = this.#units < 0 ? this.#units : this.#units % UNITS_PER_TOKEN;
    const missing = UNITS_PER_TOKEN - part;
    return Math.max(1, Math.ceil(missing / this.#rate.sustained / US_PER_SECOND));
  }

  /** True if the mean request rate, including refused requests, exceeds the sustained rate. */
  get exceedsMeanRate(): boolean {
    const total = this.#requests.reduce((sum, count) => sum + count, 0);
    return total > this.#rate.sustained * MEAN_SECONDS;
  }

  /** Changes the rate from the last request on; tokens above the new burst are lost. */
  changeRate(rate: Rate): void {
    this.#rate = rate;
    this.#units = Math.min(this.#units, rate.burst * UNITS_PER_TOKEN);
  }

  #refill(nowMs: number): void {
    const nowUs = Math.round(nowMs * 1_000);
    if (nowUs <= this.#atUs) return;
    const { sustained, burst } = this.#rate;
    const units = this.#units + (nowUs - this.#atUs) * sustained;
    this.#units = Math.min(units, burst * UNITS_PER_TOKEN);
    this.#atUs = nowUs;
  }

  #countRequest(): void {
    const second = Math.floor(this.#atUs / US_PER_SECOND);
    if (second !== this.#second) {
      const passed = Math.min(second - this.#second, MEAN_SECONDS);
      for (let i = 0; i < passed; i++) this.#requests[(second - i) % MEAN_SECONDS] = 0;
      this.#second = second;
    }
    const at = second % MEAN_SECONDS;
    this.#requests[at] = (this.#requests[at] ?? 0) + 1;
  }
}
