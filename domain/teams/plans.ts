/**
 * What each plan includes (contract 14, decisions 36 and 38 to 40).
 *
 * @module
 */

/** What one plan includes; `Infinity` is no limit. */
export interface TierLimits {
  /** Requests a second a team may send for ever (contract 12). */
  readonly requestsPerSecond: number;
  /** Requests it may send at once after a rest. */
  readonly burst: number;
  /** Bytes of request bodies a second, inflated, that a team may send for ever. */
  readonly bytesPerSecond: number;
  /** Events of a month the price includes; beyond them nothing is refused (decision 41). */
  readonly eventsPerMonth: number;
  /** Metadata keys kept of a request (decision 38). */
  readonly metadataKeysMax: number;
  /** Agents a team may have (decision 39). */
  readonly agentsMax: number;
  /** Days that events, outputs and metadata are kept (decision 40). */
  readonly payloadDays: number;
  /** Days that a run's record is kept (decision 40). */
  readonly recordDays: number;
}

/** The plans. This table is where their numbers are written; {@link planOfTeam} says what a team has. */
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

/** The name of a plan. */
export type Tier = keyof typeof TIERS;

/** All plans' names. */
export const TIER_NAMES = Object.keys(TIERS) as [Tier, ...Tier[]];

/** What may be set for one team, on the plan where these are as agreed. */
export type OwnLimits = Partial<
  Pick<
    TierLimits,
    "eventsPerMonth" | "metadataKeysMax" | "agentsMax" | "payloadDays" | "recordDays"
  >
>;

/** The plan whose limits can be set for a team (decisions 36 and 38 to 40). */
export const TIER_OF_OWN_LIMITS: Tier = "enterprise";

/** Somebody on a plan. */
export interface Planned {
  /** Plan. */
  readonly tier: Tier;
  /** Limits in place of the plan's; only on {@link TIER_OF_OWN_LIMITS}. */
  readonly limits?: OwnLimits;
}

/** What somebody's plan includes. A rate of its own is not in it: that is `Team.rate`. */
export function planOfTeam({ tier, limits }: Planned): TierLimits {
  return limits === undefined ? TIERS[tier] : { ...TIERS[tier], ...limits };
}
