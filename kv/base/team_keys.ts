/**
 * Keys of teams, their credentials and audit logs; part of `keys` in `keys.ts`.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";

/** Builders of these keys; each reads like a path. */
export const teamKeys = {
  /** A credential by the SHA-256 of its secret: the only key read before the team is known. */
  credential: (hash: Uint8Array): Deno.KvKey => ["credential", hash],
  /** Prefix of the hashes of a team's credentials. */
  teamCredentials: (team: TeamId): Deno.KvKey => ["team_credential", team],
  /** The hash of one of a team's credentials. */
  teamCredential: (team: TeamId, id: string): Deno.KvKey => ["team_credential", team, id],
  /** Credentials of a team after an id; from the first one if it is null. */
  teamCredentialsAfter: (team: TeamId, id: string | null): Deno.KvListSelector => ({
    // `true` sorts after every other key part.
    start: id === null ? ["team_credential", team] : ["team_credential", team, id, true],
    end: ["team_credential", team, true],
  }),
  /** Time of a credential's last recorded use. */
  credentialUse: (team: TeamId, id: string): Deno.KvKey => ["credential_use", team, id],
  /** A dashboard session by the SHA-256 of its token: read before its team is known. */
  session: (hash: Uint8Array): Deno.KvKey => ["session", hash],
  /** Sessions by credential and start, after one of these rows; from the first if it is null. */
  sessionsBehind: (after: Deno.KvKey | null): Deno.KvListSelector => ({
    // `true` sorts after every other key part.
    start: after === null ? ["session_by"] : [...after, true],
    end: ["session_by", true],
  }),
  /** Sessions of one credential, oldest first. */
  sessionsOf: (credential: Uint8Array): Deno.KvKey => ["session_by", credential],
  /** A session of a credential, by its start. */
  sessionOf: (credential: Uint8Array, startedAt: number, hash: Uint8Array): Deno.KvKey => [
    "session_by",
    credential,
    startedAt,
    hash,
  ],
  /** Audit log entries from one instant (inclusive) to another (exclusive), unix milliseconds. */
  auditEntries: (log: TeamId, fromMs: number, toMs: number): Deno.KvListSelector => ({
    start: ["audit_log", log, fromMs],
    end: ["audit_log", log, toMs],
  }),
  /** An audit log entry, by its time. */
  auditEntry: (log: TeamId, atMs: number, name: string): Deno.KvKey => [
    "audit_log",
    log,
    atMs,
    name,
  ],
  /** Refusals of a team in an hour, by the hour's start, unix milliseconds. */
  refusalHour: (team: TeamId, hour: number): Deno.KvKey => ["refusal", team, hour],
  /** Totals of a team's hours. `true` sorts after every other key part, so after all hours. */
  refusalSums: (team: TeamId): Deno.KvKey => ["refusal", team, true],
  /** A team's hours from one on, and their totals. */
  refusalsFrom: (team: TeamId, hour: number): Deno.KvListSelector => ({
    start: ["refusal", team, hour],
    end: ["refusal", team, true, true],
  }),
  /** Teams after an id; from the first one if it is null. */
  teamsAfter: (id: string | null): Deno.KvListSelector => ({
    start: id === null ? ["team"] : ["team", id, true],
    end: ["team", true],
  }),
  teams: (): Deno.KvKey => ["team"],
  team: (team: TeamId): Deno.KvKey => ["team", team],
  /** The id of the team that the first start created. */
  firstTeam: (): Deno.KvKey => ["first_team"],
} as const;
