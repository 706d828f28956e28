/**
 * Rows of a credential: one by the hash of its secret, one by its team and id.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  type CredentialRecord,
  type CredentialSpec,
  SECRET_PREFIX,
} from "../../domain/teams/credentials.ts";
import type { Team } from "../../domain/teams/team.ts";
import { type Region, type TeamId, uuid7Hex } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { AuditAction, AuditEntry } from "../../domain/teams/audit_log.ts";
import { keys } from "../base/keys.ts";
import { getAll, getEntry, getValue, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** A credential as stored, by the hash of its secret. */
export interface StoredCredential extends CredentialRecord {
  readonly team: TeamId;
}

/** A credential with the version that was read. */
export interface ReadCredential {
  readonly key: Deno.KvKey;
  readonly stored: StoredCredential;
  readonly version: string;
}

export interface NewCredential {
  /** Public record, as lists show it. */
  readonly record: CredentialRecord;
  readonly secret: string;
}

/** Generates a credential. */
export function newCredential(
  spec: CredentialSpec,
  region: Region,
  environment: Environment,
): NewCredential {
  const random = environment.random(16).toHex();
  const secret = `${SECRET_PREFIX[spec.grant.kind]}_${region}_${random}`;
  return { record: newRecord(spec, region, environment), secret };
}

/** Creates the record of a credential with an existing secret. */
export function newRecord(
  { name, grant }: CredentialSpec,
  region: Region,
  environment: Environment,
): CredentialRecord {
  const createdAt = environment.now();
  const id = `key_${region}_${uuid7Hex(createdAt, environment.random(10))}`;
  return { id, name, grant, createdAt, revokedAt: null };
}

/** Returns the write of a new credential; it conflicts if the secret is already stored. */
export function insertion(
  team: TeamId,
  { record, secret }: NewCredential,
): Required<Pick<Write, "checks" | "sets">> {
  const hash = hashOf(secret);
  const key = keys.credential(hash);
  const value: StoredCredential = { ...record, team };
  return {
    checks: [{ key, versionstamp: null }],
    sets: [{ key, value }, { key: keys.teamCredential(team, record.id), value: hash }],
  };
}

/** Returns the audit log entry for a change of a credential. */
export function credentialEntry(
  action: AuditAction,
  team: TeamId,
  { id, name, grant }: CredentialRecord,
  actor: string,
  at: number,
  details: AuditEntry["details"] = {},
): AuditEntry {
  const access = grant.kind === "api_key" ? { scopes: grant.scopes } : { agent: grant.agent };
  return {
    at,
    team,
    actor,
    action,
    target: id,
    details: { kind: grant.kind, name, ...access, ...details },
  };
}

/** Reads one of a team's credentials; null if the team has none with that id. */
export async function readCredential(
  store: Store,
  team: TeamId,
  id: string,
): Promise<ReadCredential | null> {
  const hash = await getValue<Uint8Array>(store, keys.teamCredential(team, id));
  return hash && await readSecret(store, hash);
}

/** Reads a credential by the hash of its secret; null if there is none. */
export async function readSecret(store: Store, hash: Uint8Array): Promise<ReadCredential | null> {
  const key = keys.credential(hash);
  const { value, versionstamp } = await getEntry(store, key);
  if (versionstamp === null) return null;
  return { key, stored: value as StoredCredential, version: versionstamp };
}

/** Reads credentials by id; ids that the team does not have are skipped. */
export async function readCredentials(
  store: Store,
  team: TeamId,
  ids: readonly string[],
): Promise<StoredCredential[]> {
  const pointers = await getAll(store, ids.map((id) => keys.teamCredential(team, id)));
  const hashes = pointers.map(({ value }) => value);
  return await readByHash(store, hashes.filter((hash) => hash instanceof Uint8Array));
}

/** Reads credentials by the hashes of their secrets, in the same order. */
export async function readByHash(
  store: Store,
  hashes: readonly Uint8Array[],
): Promise<StoredCredential[]> {
  const entries = await getAll(store, hashes.map((hash) => keys.credential(hash)));
  return entries.map(({ value }) => value as StoredCredential);
}

/** Reads the team of a credential. */
export async function readTeam(store: Store, id: TeamId): Promise<Team> {
  const team = await getValue<Team>(store, keys.team(id));
  if (team !== null) return team;
  throw new StorageUnavailable(`Cannot find team ${id} of a stored credential`);
}

/** Returns the public record of a credential. */
export function publicRecord({ team: _, ...record }: StoredCredential): CredentialRecord {
  return record;
}

/** Hashes a secret with SHA-256: enough for 128 random bits; synchronous is 20 times faster. */
export function hashOf(secret: string): Uint8Array {
  return new Uint8Array(createHash("sha256").update(secret).digest());
}
