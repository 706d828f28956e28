/**
 * The keys of teams, their credentials and their audit logs; they are part of `keys` in `keys.ts`.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";

/** Builders of these keys; each reads like a path. */
export const teamKeys = {
  /** A credential by the SHA-256 of its secret: the one key found before the team is known. */
  credential: (hash: Uint8Array): Deno.KvKey => ["credential", hash],
  /** The hashes of a team's credentials. */
  teamCredentials: (team: TeamId): Deno.KvKey => ["team_credential", team],
  /** The hash of one of a team's credentials. */
  teamCredential: (team: TeamId, id: string): Deno.KvKey => ["team_credential", team, id],
  /** Credentials of a team behind an id, by id; from the first when there is none. */
  teamCredentialsAfter: (team: TeamId, id: string | null): Deno.KvListSelector => ({
    // `true` is behind every other part of a key.
    start: id === null ? ["team_credential", team] : ["team_credential", team, id, true],
    end: ["team_credential", team, true],
  }),
  /** When a credential was last used, as far as that is written down. */
  credentialUse: (team: TeamId, id: string): Deno.KvKey => ["credential_use", team, id],
  /** A session of the dashboard by the SHA-256 of its token: found before its team is known. */
  session: (hash: Uint8Array): Deno.KvKey => ["session", hash],
  /** Sessions by credential and start, behind one of these rows; from the first when there is none. */
  sessionsBehind: (after: Deno.KvKey | null): Deno.KvListSelector => ({
    // `true` is behind every other part of a key.
    start: after === null ? ["session_by"] : [...after, true],
    end: ["session_by", true],
  }),
  /** The sessions of one credential, the oldest first. */
  sessionsOf: (credential: Uint8Array): Deno.KvKey => ["session_by", credential],
  /** A session of a credential, by when it began. */
  sessionOf: (credential: Uint8Array, startedAt: number, hash: Uint8Array): Deno.KvKey => [
    "session_by",
    credential,
    startedAt,
    hash,
  ],
  /** Entries of an audit log from one instant up to before another, unix milliseconds. */
  auditEntries: (log: TeamId, fromMs: number, toMs: number): Deno.KvListSelector => ({
    start: ["audit_log", log, fromMs],
    end: ["audit_log", log, toMs],
  }),
  /** An entry of an audit log, by its instant. */
  auditEntry: (log: TeamId, atMs: number, name: string): Deno.KvKey => [
    "audit_log",
    log,
    atMs,
    name,
  ],
  /** Refusals of a team in an hour, by its start, unix milliseconds. */
  refusalHour: (team: TeamId, hour: number): Deno.KvKey => ["refusal", team, hour],
  /** What a team's hours add up to. `true` is behind every other part of a key: behind all hours. */
  refusalSums: (team: TeamId): Deno.KvKey => ["refusal", team, true],
  /** The hours of a team from one on, and their sums. */
  refusalsFrom: (team: TeamId, hour: number): Deno.KvListSelector => ({
    start: ["refusal", team, hour],
    end: ["refusal", team, true, true],
  }),
  /** Teams behind an id, by id; from the first when there is none. */
  teamsAfter: (id: string | null): Deno.KvListSelector => ({
    start: id === null ? ["team"] : ["team", id, true],
    end: ["team", true],
  }),
  /** All teams. */
  teams: (): Deno.KvKey => ["team"],
  /** A team. */
  team: (team: TeamId): Deno.KvKey => ["team", team],
  /** The id of the team that the first start created. */
  firstTeam: (): Deno.KvKey => ["first_team"],
} as const;
