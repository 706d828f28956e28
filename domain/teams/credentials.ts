/**
 * Credentials: what they look like, what they may do, and why one is refused (decisions 1 to 4).
 *
 * @module
 */
import { type Parsed, type Problem, refuse } from "../core/errors.ts";
import { isRegion, type Region, type TeamId } from "../core/ids.ts";
import { show } from "../core/text.ts";
import type { Team } from "./team.ts";

/** What a team key may be allowed to do. */
export const SCOPES = ["ingest", "read", "admin"] as const;

/** One of {@link SCOPES}. */
export type Scope = typeof SCOPES[number];

/** Who makes a request: a team by one of its credentials. */
export interface Principal {
  /** The credential's identifier. */
  readonly credentialId: string;
  /** The team it belongs to. */
  readonly team: Team;
  /** What it may do. */
  readonly grant: Grant | OperatorGrant;
}

/** What a credential may do: a key has scopes, a ping token belongs to one agent. */
export type Grant =
  | { readonly kind: "api_key"; readonly scopes: readonly Scope[] }
  | { readonly kind: "ping_token"; readonly agent: string };

/** What the operator's key may do: look after teams, and touch the data of none. */
export interface OperatorGrant {
  /** Tells it from those of teams. */
  readonly kind: "operator";
}

/** The operator of the service: under this team its own actions are kept, and it has no data. */
export const OPERATOR: Principal = {
  credentialId: "operator",
  team: { id: "operator" as TeamId, name: "operator", tier: "enterprise" },
  grant: { kind: "operator" },
};

/** A credential as lists show it: never the secret. */
export interface CredentialRecord {
  /** Identifier, `key_<region>_<32 hex>`. */
  readonly id: string;
  /** Name for people. */
  readonly name: string;
  /** What it may do. */
  readonly grant: Grant;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** When somebody revoked it, unix milliseconds; null while nobody has. */
  readonly revokedAt: number | null;
  /** When it stops because it was replaced, unix milliseconds; absent while it was not. */
  readonly endsAt?: number;
  /** Whether its end has been noted, so that it stays ended if the clock is set back. */
  readonly hasEnded?: boolean;
  /** The credential that replaced it. */
  readonly replacedBy?: string;
  /** The credential that it replaced. */
  readonly replaces?: string;
}

/** Whether a credential works at an instant, unix milliseconds. */
export function isLive(
  { revokedAt, endsAt = Infinity, hasEnded = false }: CredentialRecord,
  nowMs: number,
): boolean {
  return revokedAt === null && !hasEnded && nowMs < endsAt;
}

/** The key that `--dev` creates. Everybody knows it, so it works on loopback addresses only. */
export function developmentKey(region: Region): string {
  return `apk_${region}_0123456789abcdef0123456789abcdef`;
}

/** The text prefix of each kind of credential. */
export const SECRET_PREFIX = { api_key: "apk", ping_token: "ping" } as const;

const SECRET = /^(?:apk|ping|opk)_([a-z]{2})_[0-9a-f]{32}$/;

/** Whether a text looks like a team key of this region; says nothing about whether it exists. */
export function isTeamKey(text: string, region: Region): boolean {
  return text.startsWith(`apk_${region}_`) && SECRET.test(text);
}

/** Whether a text looks like an operator key of this region; says nothing about whether it works. */
export function isOperatorKey(text: string, region: Region): boolean {
  return text.startsWith(`opk_${region}_`) && SECRET.test(text);
}

/** The one refusal for every credential that is absent, malformed, unknown or revoked. */
export const INVALID_CREDENTIAL: Problem = {
  code: "invalid_credential",
  message: "This needs a valid credential: send Authorization: Bearer <API key>",
};

/** Judges a credential by its text alone, before anything is read (decision 1). */
export function parseSecret(text: string | null, endpoint: Region): Parsed<string> {
  const match = text === null ? null : SECRET.exec(text);
  if (text === null || match === null) return { ok: false, problem: INVALID_CREDENTIAL };
  const region = match[1];
  if (region === endpoint) return { ok: true, value: text };
  const message = `This credential belongs to region "${region}" and this endpoint to ` +
    `"${endpoint}": ` +
    (isRegion(region) ? `send it to the ${region} endpoint` : "use a key of this region");
  return refuse("region_mismatch", message);
}

/** What a route asks of a credential. */
export interface Requirement {
  /** Scope a team key needs; null where no team key will do. */
  readonly scope: Scope | null;
  /** Whether ping tokens may call it (decision 2). */
  readonly pingTokens: boolean;
  /** Whether the operator may call it. */
  readonly operator: boolean;
}

/** Why a principal may not call a route; null when it may. */
export function refusalOf({ grant }: Principal, requirement: Requirement): Problem | null {
  const { scope, pingTokens, operator } = requirement;
  switch (grant.kind) {
    case "ping_token":
      return pingTokens ? null : TOKEN_REFUSAL;
    case "operator":
      return operator ? null : OPERATOR_REFUSAL;
    case "api_key":
      if (scope === null) return KEY_REFUSAL;
      return grant.scopes.includes(scope) ? null : {
        code: "forbidden",
        message: `This key lacks the scope "${scope}": use or create one that has it`,
      };
    default:
      return grant satisfies never;
  }
}

const TOKEN_REFUSAL: Problem = {
  code: "scope_violation",
  message: "A ping token may call only /v1/ping and /v1/heartbeats: use a team key here",
};

const OPERATOR_REFUSAL: Problem = {
  code: "forbidden",
  message: "The operator key looks after teams and sees no data of theirs: use a team key here",
};

const KEY_REFUSAL: Problem = {
  code: "forbidden",
  message: "Only the operator of this service may do this: a team key cannot",
};

/** Why nobody may speak for a team now; null when they may. */
export function suspensionOf({ team }: Principal): Problem | null {
  return team.suspendedAt === undefined ? null : SUSPENDED;
}

const SUSPENDED: Problem = {
  code: "forbidden",
  message: "This team is suspended, its data is kept: ask the operator of this service",
};

/** Why a principal may not speak for an agent; null when it may, or when no agent is named. */
export function agentRefusalOf({ grant }: Principal, agent: unknown): Problem | null {
  if (grant.kind !== "ping_token" || typeof agent !== "string" || agent === grant.agent) {
    return null;
  }
  return {
    code: "scope_violation",
    message: `This ping token belongs to agent ${show(grant.agent)} and cannot speak ` +
      `for ${show(agent)}: use that agent's token or a team key`,
  };
}

/** What a new credential is. */
export interface CredentialSpec {
  /** Name for people. */
  readonly name: string;
  /** What it may do. */
  readonly grant: Grant;
}
