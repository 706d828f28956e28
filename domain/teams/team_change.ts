/**
 * Creating and changing teams: bodies, limits, and the contract of their store.
 *
 * @module
 */
import { name, oneOf, optional } from "../core/fields.ts";
import { type OwnLimits, TIER_NAMES, TIER_OF_OWN_LIMITS } from "./plans.ts";
import type { Team } from "./team.ts";
import type { TeamId } from "../core/ids.ts";
import { refuse } from "../core/errors.ts";
import {
  EMAIL_CHARS_MAX,
  OWN_LIMIT_MAX,
  OWN_RATE_MAX,
  TEAM_NAME_CHARS_MAX,
} from "../core/limits.ts";
import { z } from "zod";
import { check } from "../core/validate.ts";
import type { Body } from "../core/body.ts";
import type { AuditValue } from "./audit_log.ts";
import { formatInstant } from "../core/time.ts";

/** Returns whether a text has the format of a team id; the team may not exist. */
export function isTeamId(text: string): text is TeamId {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}

const EMAIL = `an e-mail address of at most ${EMAIL_CHARS_MAX.all} characters, ` +
  `${EMAIL_CHARS_MAX.local} of them before the "@"`;

const teamName = name(TEAM_NAME_CHARS_MAX, "a name");

/**
 * Plan of a team.
 *
 * @internal
 */
export const tier = oneOf("Tier", TIER_NAMES);

const email = z.email(EMAIL).refine(fitsMail, EMAIL).meta({ maxLength: EMAIL_CHARS_MAX.all });

/**
 * Body of `POST /v1/teams`.
 *
 * @internal
 */
export const newTeamBody = z.object({
  name: teamName.describe("Display name."),
  tier: tier.describe("The plan."),
  owner_email: optional(email).describe("Address for quota notices."),
});

/**
 * Body of `PATCH /v1/teams/{id}`.
 *
 * @internal
 */
export const teamChangeBody = z.object({
  name: optional(teamName).describe("Display name."),
  tier: optional(tier).describe("The plan; a team that leaves enterprise loses its `limits`."),
  owner_email: email.nullable().optional().describe("Null to send no notices."),
  rate: z.object(
    { sustained: upTo(OWN_RATE_MAX), burst: upTo(OWN_RATE_MAX) },
    "an object with sustained and burst, or null",
  ).meta({ id: "TeamRateChange" }).nullable().optional()
    .describe("Overrides the plan's rate; null restores it."),
  limits: z.object({
    events_per_month: optional(upTo(OWN_LIMIT_MAX)),
    metadata_keys_max: optional(upTo(OWN_LIMIT_MAX)),
    agents_max: optional(upTo(OWN_LIMIT_MAX)),
    payload_days: optional(upTo(OWN_LIMIT_MAX)),
    record_days: optional(upTo(OWN_LIMIT_MAX)),
  }, "an object of limits, or null").meta({ id: "TeamLimitsChange" }).nullable().optional()
    .describe(
      "Enterprise only; replaces all limits together. Null restores the plan's limits. " +
        "`payload_days` must not exceed `record_days`.",
    ),
  suspended: optional(z.boolean("true or false"))
    .describe("True to refuse every call of the team."),
});

/**
 * Specification of a new team.
 *
 * @internal
 */
export type TeamSpec = Readonly<z.output<typeof newTeamBody>>;

/**
 * Change of a team: an absent field is unchanged, null removes the value.
 *
 * @internal
 */
export type TeamChange = Readonly<z.output<typeof teamChangeBody>>;

type LimitFields = NonNullable<TeamChange["limits"]>;

/** Page of teams, by id. */
export interface TeamPage {
  /** Teams of the page. */
  readonly teams: readonly Team[];
  /** Id of the last team; null at the end. */
  readonly next: TeamId | null;
}

/** Returns whether mail servers accept an address of this length. */
function fitsMail(address: string): boolean {
  return address.length <= EMAIL_CHARS_MAX.all &&
    address.lastIndexOf("@") <= EMAIL_CHARS_MAX.local;
}

/** Schema of an integer from 1 to `max`; leave the field out for no limit. */
function upTo(max: number) {
  const expected = `a whole number from 1 to ${max}`;
  return z.int(expected).min(1, expected).max(max, expected);
}

/** Validates the body of `POST /v1/teams`. */
export function parseNewTeam(body: Body): TeamSpec {
  return check(newTeamBody, body.value);
}

/** Validates the body of `PATCH /v1/teams/{id}`. */
export function parseTeamChange(body: Body): TeamChange {
  return check(teamChangeBody, body.value);
}

/** Returns the team after a change, or refuses the change. */
export function changedTeam(team: Team, change: TeamChange, nowMs: number): Team {
  const tier = change.tier ?? team.tier;
  const isOwn = tier === TIER_OF_OWN_LIMITS;
  if (change.limits && !isOwn) {
    return refuse(
      "invalid_field",
      `"limits" can be set only on plan ${TIER_OF_OWN_LIMITS}`,
      "limits",
    );
  }
  // A team that leaves the plan loses its own limits.
  const limits = change.limits === undefined
    ? isOwn ? team.limits : undefined
    : limitsOf(change.limits);
  if ((limits?.payloadDays ?? Infinity) > (limits?.recordDays ?? Infinity)) {
    const message = '"payload_days" must be at most "record_days": set both in "limits"';
    return refuse("invalid_field", message, "limits");
  }
  const ownerEmail = valueOf(change.owner_email, team.ownerEmail);
  const rate = valueOf(change.rate, team.rate);
  const suspendedAt = change.suspended === undefined
    ? team.suspendedAt
    : change.suspended
    ? team.suspendedAt ?? nowMs
    : undefined;
  const { id, createdAt } = team;
  return withoutAbsent({
    id,
    name: change.name ?? team.name,
    tier,
    ownerEmail,
    rate,
    limits,
    createdAt,
    suspendedAt,
  });
}

/** Returns a field after a change: `undefined` leaves it unchanged, null removes it. */
function valueOf<T>(change: T | null | undefined, current: T | undefined): T | undefined {
  return change === undefined ? current : change ?? undefined;
}

function limitsOf(fields: LimitFields | null): OwnLimits | undefined {
  if (fields === null) return undefined;
  const limits = withoutAbsent<OwnLimits>({
    eventsPerMonth: fields.events_per_month,
    metadataKeysMax: fields.metadata_keys_max,
    agentsMax: fields.agents_max,
    payloadDays: fields.payload_days,
    recordDays: fields.record_days,
  });
  return Object.keys(limits).length === 0 ? undefined : limits;
}

/** Removes absent fields, as a team is stored without them. */
function withoutAbsent<T>(fields: { readonly [Name in keyof T]: T[Name] | undefined }): T {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as T;
}

/** Returns a team as shown in responses and the audit log. */
export function teamFields(team: Team): Record<string, AuditValue> {
  const { id, name, tier, ownerEmail, rate, limits, createdAt, suspendedAt } = team;
  return {
    id,
    name,
    tier,
    owner_email: ownerEmail ?? null,
    rate: rate === undefined ? null : { sustained: rate.sustained, burst: rate.burst },
    limits: limits === undefined ? null : {
      events_per_month: limits.eventsPerMonth ?? null,
      metadata_keys_max: limits.metadataKeysMax ?? null,
      agents_max: limits.agentsMax ?? null,
      payload_days: limits.payloadDays ?? null,
      record_days: limits.recordDays ?? null,
    },
    suspended: suspendedAt !== undefined,
    suspended_at: suspendedAt === undefined ? null : formatInstant(suspendedAt),
    created_at: createdAt === undefined ? null : formatInstant(createdAt),
  };
}
