/**
 * Limits of each plan (contract 14, decisions 36 and 38 to 40).
 *
 * @module
 */

/** Limits of one plan; `Infinity` means no limit. */
export interface TierLimits {
  /** Sustained requests per second (contract 12). */
  readonly requestsPerSecond: number;
  /** Maximum burst of requests. */
  readonly burst: number;
  /** Sustained bytes of request bodies per second, decompressed. */
  readonly bytesPerSecond: number;
  /** Events per month included in the price; events beyond it are still accepted (decision 41). */
  readonly eventsPerMonth: number;
  /** Maximum metadata keys stored per request (decision 38). */
  readonly metadataKeysMax: number;
  /** Maximum agents of a team (decision 39). */
  readonly agentsMax: number;
  /** Retention of events, outputs and metadata in days (decision 40). */
  readonly payloadDays: number;
  /** Retention of run records in days (decision 40). */
  readonly recordDays: number;
}

/** Plans with their limits. Use {@link planOfTeam} for the limits of a team. */
export const TIERS = {
  free: {
    requestsPerSecond: 100,
    burst: 200,
    bytesPerSecond: 1_000_000,
    eventsPerMonth: 100_000,
    metadataKeysMax: 0,
    agentsMax: 10,
    payloadDays: 7,
    recordDays: 30,
  },
  starter: {
    requestsPerSecond: 100,
    burst: 200,
    bytesPerSecond: 1_000_000,
    eventsPerMonth: 2_000_000,
    metadataKeysMax: 0,
    agentsMax: 25,
    payloadDays: 14,
    recordDays: 90,
  },
  team: {
    requestsPerSecond: 500,
    burst: 1_000,
    bytesPerSecond: 5_000_000,
    eventsPerMonth: 10_000_000,
    metadataKeysMax: 3,
    agentsMax: 50,
    payloadDays: 30,
    recordDays: 180,
  },
  business: {
    requestsPerSecond: 2_000,
    burst: 5_000,
    bytesPerSecond: 20_000_000,
    eventsPerMonth: 25_000_000,
    metadataKeysMax: 10,
    agentsMax: 100,
    payloadDays: 90,
    recordDays: 400,
  },
  enterprise: {
    requestsPerSecond: Infinity,
    burst: Infinity,
    bytesPerSecond: Infinity,
    eventsPerMonth: Infinity,
    metadataKeysMax: Infinity,
    agentsMax: Infinity,
    payloadDays: Infinity,
    recordDays: Infinity,
  },
} as const satisfies Record<string, TierLimits>;

/** Name of a plan. */
export type Tier = keyof typeof TIERS;

/** Names of all plans. */
export const TIER_NAMES = Object.keys(TIERS) as [Tier, ...Tier[]];

/** Limits that can be set for one team, on {@link TIER_OF_OWN_LIMITS} only. */
export type OwnLimits = Partial<
  Pick<
    TierLimits,
    "eventsPerMonth" | "metadataKeysMax" | "agentsMax" | "payloadDays" | "recordDays"
  >
>;

/** Plan whose limits can be set per team (decisions 36 and 38 to 40). */
export const TIER_OF_OWN_LIMITS: Tier = "enterprise";

/** Plan of a team, with its own limits. */
export interface Planned {
  /** Name of the plan. */
  readonly tier: Tier;
  /** Limits that override the plan's; only on {@link TIER_OF_OWN_LIMITS}. */
  readonly limits?: OwnLimits;
}

/** Returns the limits of a team. Excludes its own request rate, which is `Team.rate`. */
export function planOfTeam({ tier, limits }: Planned): TierLimits {
  return limits === undefined ? TIERS[tier] : { ...TIERS[tier], ...limits };
}

/** Rate limit of a bucket. */
export interface Rate {
  /** Tokens refilled per second; more than 0. */
  readonly sustained: number;
  /** Capacity in tokens; at least 1. */
  readonly burst: number;
}
