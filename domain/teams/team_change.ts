/**
 * Creating and changing teams: bodies, limits, and the contract of their store.
 *
 * @module
 */
import { name, oneOf, optional } from "../core/fields.ts";
import { type OwnLimits, TIER_NAMES, TIER_OF_OWN_LIMITS } from "./plans.ts";
import type { Team } from "./team.ts";
import type { TeamId } from "../core/ids.ts";
import type { CredentialRecord } from "./credentials.ts";
import type { PageQuery } from "../core/page.ts";
import { type Parsed, refuse } from "../core/errors.ts";
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

/** Whether a text can name a team; says nothing about whether it exists. */
export function isTeamId(text: string): text is TeamId {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}

const EMAIL = `an e-mail address of at most ${EMAIL_CHARS_MAX.all} characters, ` +
  `${EMAIL_CHARS_MAX.local} of them before the "@"`;

const teamName = name(TEAM_NAME_CHARS_MAX, "a name");

const tier = oneOf(TIER_NAMES);

const email = z.email(EMAIL).refine(fitsMail, EMAIL).meta({ maxLength: EMAIL_CHARS_MAX.all });

/**
 * Body of `POST /v1/teams`.
 *
 * @internal
 */
export const newTeamBody = z.object({
  name: teamName,
  tier,
  owner_email: optional(email),
});

/**
 * Body of `PATCH /v1/teams/{id}`.
 *
 * @internal
 */
export const teamChangeBody = z.object({
  name: optional(teamName),
  tier: optional(tier),
  owner_email: email.nullable().optional(),
  rate: z.object(
    { sustained: upTo(OWN_RATE_MAX), burst: upTo(OWN_RATE_MAX) },
    "an object with sustained and burst, or null",
  ).nullable().optional(),
  limits: z.object({
    events_per_month: optional(upTo(OWN_LIMIT_MAX)),
    metadata_keys_max: optional(upTo(OWN_LIMIT_MAX)),
    agents_max: optional(upTo(OWN_LIMIT_MAX)),
    payload_days: optional(upTo(OWN_LIMIT_MAX)),
    record_days: optional(upTo(OWN_LIMIT_MAX)),
  }, "an object of limits, or null").nullable().optional(),
  suspended: optional(z.boolean("true or false")),
});

/** @internal */
export type TeamSpec = Readonly<z.output<typeof newTeamBody>>;

/**
 * Change of a team: absent is left as it is, null is removed.
 *
 * @internal
 */
export type TeamChange = Readonly<z.output<typeof teamChangeBody>>;

type LimitFields = NonNullable<TeamChange["limits"]>;

/** A page of teams, by id. */
export interface TeamPage {
  /** The teams. */
  readonly teams: readonly Team[];
  /** Id of the last; null at the end. */
  readonly next: TeamId | null;
}

/** The teams as the operator sees them. Methods reject with `StorageUnavailable`. */
export interface TeamStore {
  /** Creates a team and its first key, whose secret is in this answer and nowhere else. */
  create(spec: TeamSpec): Promise<{
    readonly team: Team;
    readonly record: CredentialRecord;
    readonly secret: string;
  }>;
  /** Reads one; null when there is none. */
  get(id: string): Promise<Team | null>;
  /** Lists a page. */
  page(query: PageQuery<string>): Promise<TeamPage>;
  /** Changes one, or says why not; null when there is none. */
  change(id: string, change: TeamChange): Promise<Parsed<Team> | null>;
}

/** Whether mail servers take an address of this length. */
function fitsMail(address: string): boolean {
  return address.length <= EMAIL_CHARS_MAX.all &&
    address.lastIndexOf("@") <= EMAIL_CHARS_MAX.local;
}

/** A number from 1 on; what is to be without limit is left out. */
function upTo(max: number) {
  const expected = `a whole number from 1 to ${max}`;
  return z.int(expected).min(1, expected).max(max, expected);
}

/** Checks a `POST /v1/teams`. */
export function parseNewTeam(body: Body): Parsed<TeamSpec> {
  return check(newTeamBody, body.value);
}

/** Checks a `PATCH /v1/teams/{id}`. */
export function parseTeamChange(body: Body): Parsed<TeamChange> {
  return check(teamChangeBody, body.value);
}

/** The team as it is after a change, or why it cannot be so. */
export function changedTeam(team: Team, change: TeamChange, nowMs: number): Parsed<Team> {
  const tier = change.tier ?? team.tier;
  const isOwn = tier === TIER_OF_OWN_LIMITS;
  if (change.limits && !isOwn) {
    return refuse("invalid_field", `"limits" can be set on ${TIER_OF_OWN_LIMITS} alone`, "limits");
  }
  // Whoever leaves the plan leaves its limits behind.
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
  return {
    ok: true,
    value: withoutAbsent({
      id,
      name: change.name ?? team.name,
      tier,
      ownerEmail,
      rate,
      limits,
      createdAt,
      suspendedAt,
    }),
  };
}

/** What a field is after a change: `undefined` leaves it, null takes it away. */
function valueOf<T>(sent: T | null | undefined, known: T | undefined): T | undefined {
  return sent === undefined ? known : sent ?? undefined;
}

function limitsOf(sent: LimitFields | null): OwnLimits | undefined {
  if (sent === null) return undefined;
  const limits = withoutAbsent<OwnLimits>({
    eventsPerMonth: sent.events_per_month,
    metadataKeysMax: sent.metadata_keys_max,
    agentsMax: sent.agents_max,
    payloadDays: sent.payload_days,
    recordDays: sent.record_days,
  });
  return Object.keys(limits).length === 0 ? undefined : limits;
}

/** The same without fields that are absent, which is how a team is stored. */
function withoutAbsent<T>(fields: { readonly [Name in keyof T]: T[Name] | undefined }): T {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as T;
}

/** A team as answers and the audit log show it. */
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
