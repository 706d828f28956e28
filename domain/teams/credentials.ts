/**
 * Credentials: format, permissions and refusals (decisions 1 to 4), and the sessions that they start.
 *
 * @module
 */
import { type Problem, refuse, Refused } from "../core/errors.ts";
import { isRegion, type Region, type TeamId } from "../core/ids.ts";
import { show } from "../core/text.ts";
import type { Team } from "./team.ts";
import { SESSION } from "../core/limits.ts";

/** Scopes of team keys. */
export const SCOPES = ["ingest", "read", "admin"] as const;

/** One of {@link SCOPES}. */
export type Scope = typeof SCOPES[number];

/** Authenticated caller: a team, identified by one of its credentials. */
export interface Principal {
  /** Identifier of the credential. */
  readonly credentialId: string;
  /** Name of the credential for people; only sessions have it. */
  readonly credentialName?: string;
  /** Team that owns the credential. */
  readonly team: Team;
  /** Permissions of the credential. The operator manages teams and has no access to their data. */
  readonly grant: Grant | { readonly kind: "operator" };
}

/** Permissions of a team's credential: a key has scopes, a ping token belongs to one agent. */
export type Grant =
  | { readonly kind: "api_key"; readonly scopes: readonly Scope[] }
  | { readonly kind: "ping_token"; readonly agent: string };

/** The operator of the service. Its team holds the log of its actions and no other data. */
export const OPERATOR: Principal = {
  credentialId: "operator",
  team: { id: "operator" as TeamId, name: "operator", tier: "enterprise" },
  grant: { kind: "operator" },
};

/** Credential as shown in lists; never contains the secret. */
export interface CredentialRecord {
  /** Identifier, `key_<region>_<32 hex>`. */
  readonly id: string;
  /** Name for people. */
  readonly name: string;
  /** Permissions. */
  readonly grant: Grant;
  /** Time of creation, unix milliseconds. */
  readonly createdAt: number;
  /** Time of revocation, unix milliseconds; null if not revoked. */
  readonly revokedAt: number | null;
  /** Expiry after a rotation, unix milliseconds; absent if not rotated. */
  readonly endsAt?: number;
  /** True once its expiry was recorded, so that it stays expired if the clock is set back. */
  readonly hasEnded?: boolean;
  /** Identifier of the credential that replaced it. */
  readonly replacedBy?: string;
  /** Identifier of the credential that it replaced. */
  readonly replaces?: string;
}

/** Returns whether a credential is valid at an instant, unix milliseconds. */
export function isLive(
  { revokedAt, endsAt = Infinity, hasEnded = false }: CredentialRecord,
  nowMs: number,
): boolean {
  return revokedAt === null && !hasEnded && nowMs < endsAt;
}

/** Returns the key that `--dev` creates. It is public, so it works on loopback addresses only. */
export function developmentKey(region: Region): string {
  return `apk_${region}_0123456789abcdef0123456789abcdef`;
}

/** Prefix of the secret of each kind of credential. */
export const SECRET_PREFIX = { api_key: "apk", ping_token: "ping" } as const;

const SECRET = /^(?:apk|ping|opk)_([a-z]{2})_[0-9a-f]{32}$/;

/** Returns whether a text has the format of a team key of this region; the key may not exist. */
export function isTeamKey(text: string, region: Region): boolean {
  return text.startsWith(`apk_${region}_`) && SECRET.test(text);
}

/** Returns whether a text has the format of an operator key of this region; the key may be invalid. */
export function isOperatorKey(text: string, region: Region): boolean {
  return text.startsWith(`opk_${region}_`) && SECRET.test(text);
}

/** Single refusal for every credential that is absent, malformed, unknown or revoked. */
export const INVALID_CREDENTIAL: Problem = {
  code: "invalid_credential",
  message: "This needs a valid credential: send Authorization: Bearer <API key>",
};

/** Checks the format and region of a credential without reading the store (decision 1). */
export function parseSecret(text: string | null, endpoint: Region): string {
  const match = text === null ? null : SECRET.exec(text);
  if (text === null || match === null) throw new Refused(INVALID_CREDENTIAL);
  const region = match[1];
  if (region === endpoint) return text;
  const message = `This credential belongs to region "${region}" and this endpoint to ` +
    `"${endpoint}": ` +
    (isRegion(region) ? `send it to the ${region} endpoint` : "use a key of this region");
  return refuse("region_mismatch", message);
}

/** Access requirement of a route. */
export interface Requirement {
  /** Scope a team key needs, or any; null if team keys have no access. */
  readonly scope: Scope | "any" | null;
  /** True if ping tokens have access (decision 2). */
  readonly pingTokens: boolean;
  /** True if the operator has access. */
  readonly operator: boolean;
}

/** Returns the refusal of a principal that may not call a route; null if it may. */
export function refusalOf({ grant }: Principal, requirement: Requirement): Problem | null {
  const { scope, pingTokens, operator } = requirement;
  switch (grant.kind) {
    case "ping_token":
      return pingTokens ? null : TOKEN_REFUSAL;
    case "operator":
      return operator ? null : OPERATOR_REFUSAL;
    case "api_key":
      if (scope === null) return KEY_REFUSAL;
      return scope === "any" || grant.scopes.includes(scope) ? null : {
        code: "forbidden",
        message: `This key lacks the scope "${scope}": use or create one that has it`,
      };
    default:
      return grant satisfies never;
  }
}

const TOKEN_REFUSAL: Problem = {
  code: "scope_violation",
  message:
    "A ping token may call only /v1/ping, /v1/heartbeats, GET /v1/guard/check and /v1/me: use a " +
    "team key here",
};

const OPERATOR_REFUSAL: Problem = {
  code: "forbidden",
  message: "The operator key manages teams and has no access to their data: use a team key here",
};

const KEY_REFUSAL: Problem = {
  code: "forbidden",
  message: "Only the operator key may make this call: contact the operator of this service",
};

/** Returns the refusal of a suspended team; null if the team is active. */
export function suspensionOf({ team }: Principal): Problem | null {
  return team.suspendedAt === undefined ? null : SUSPENDED;
}

const SUSPENDED: Problem = {
  code: "forbidden",
  message: "This team is suspended and its data is kept: contact the operator of this service",
};

/** Returns the refusal of a principal that may not act for an agent; null if it may or names no agent. */
export function agentRefusalOf({ grant }: Principal, agent: unknown): Problem | null {
  if (grant.kind !== "ping_token" || typeof agent !== "string" || agent === grant.agent) {
    return null;
  }
  return {
    code: "scope_violation",
    message: `This ping token belongs to agent ${show(grant.agent)} and cannot act ` +
      `for ${show(agent)}: use that agent's token or a team key`,
  };
}

/** Specification of a new credential. */
export interface CredentialSpec {
  /** Name for people. */
  readonly name: string;
  /** Permissions. */
  readonly grant: Grant;
}

/** Start and last use of a session. */
export interface SessionTimes {
  /** Time of sign-in, unix milliseconds. */
  readonly startedAt: number;
  /** Last stored use, unix milliseconds; the actual last use may be slightly later. */
  readonly usedAt: number;
}

/** Returns whether a session is within its idle and total lifetime. */
export function isSessionLive({ startedAt, usedAt }: SessionTimes, nowMs: number): boolean {
  return nowMs - usedAt < SESSION.idleMs && nowMs - startedAt < SESSION.maxMs;
}

/** Returns whether a use must be stored. Storing every page view would write too much. */
export function isUseDue({ usedAt }: SessionTimes, nowMs: number): boolean {
  return nowMs - usedAt >= SESSION.idleMs / 24;
}
