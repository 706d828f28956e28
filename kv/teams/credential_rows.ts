/**
 * Rows of a credential: one by the hash of its secret, one by its team and id.
 *
 * An expired rotated credential is marked, so that setting a clock back does not revive it.
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
import { judgeId, type Region, type TeamId, uuid7Hex } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { AuditAction, AuditEntry } from "../../domain/teams/audit_log.ts";
import { nextSweepClock } from "../../domain/retention/retention.ts";
import { keys } from "../base/keys.ts";
import { outsideScope, Reads } from "../base/reads.ts";
import { findEntry, getValue, type Store } from "../store.ts";
import type { KvSet, Write } from "../writer/group.ts";
import { auditRows } from "./audit_log.ts";
import type { SlotLimits } from "../../runtime/fair_slots.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";

/** A credential as stored, by the hash of its secret. */
export interface StoredCredential extends CredentialRecord {
  readonly team: TeamId;
}

type CredentialEntry = Deno.KvEntry<StoredCredential>;

/** A credential with its secret, which is stored nowhere. */
export interface NewCredential {
  readonly record: CredentialRecord;
  readonly secret: string;
}

/** Generates a credential; an existing secret may be given. */
export function newCredential(
  { name, grant }: CredentialSpec,
  region: Region,
  { now, random }: Environment,
  existing: string | null = null,
): NewCredential {
  const secret = existing ?? `${SECRET_PREFIX[grant.kind]}_${region}_${random(16).toHex()}`;
  const createdAt = now();
  const id = `key_${region}_${uuid7Hex(createdAt, random(10))}`;
  return { record: { id, name, grant, createdAt, revokedAt: null }, secret };
}

/** Returns the rows of a new credential; they conflict if the secret is already stored. */
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

/** Stores a new credential with its audit log entry and other rows. */
export async function insertCredential(
  store: Store,
  team: TeamId,
  created: NewCredential,
  by: string,
  rows: readonly KvSet[] = [],
): Promise<void> {
  if (await store.writer.commit(credentialWrite(team, created, by, rows)) !== null) return;
  throw new StorageUnavailable("Cannot store a key that already exists");
}

/** Returns the write of a new credential; it conflicts if the secret is already stored. */
export function credentialWrite(
  team: TeamId,
  created: NewCredential,
  by: string,
  rows: readonly KvSet[] = [],
): Write {
  const { record } = created;
  const { checks, sets } = insertion(team, created);
  const logged = credentialAudit("credential.created", team, record, by, record.createdAt);
  return { team, checks, sets: [...rows, ...sets, ...logged] };
}

/** Returns the rows of the audit log for a change of a credential. */
export function credentialAudit(
  action: AuditAction,
  team: TeamId,
  { id, name, grant }: CredentialRecord,
  actor: string,
  at: number,
  details: AuditEntry["details"] = {},
): readonly KvSet[] {
  const access = grant.kind === "api_key" ? { scopes: grant.scopes } : { agent: grant.agent };
  const fields = { kind: grant.kind, name, ...access, ...details };
  return auditRows({ at, team, actor, action, target: id, details: fields });
}

/**
 * Reads one of a team's credentials; null if the team has none with that id. A text that is no id may
 * exceed the length of a key, so it is not read.
 */
export async function readCredential(
  store: Store,
  team: TeamId,
  id: string,
): Promise<CredentialEntry | null> {
  if (judgeId("key", id) !== "valid") return null;
  const hash = await getValue<Uint8Array>(store, keys.teamCredential(team, id));
  return hash && await readSecret(store, hash);
}

/** Reads a credential by the hash of its secret; null if there is none. */
export function readSecret(store: Store, hash: Uint8Array): Promise<CredentialEntry | null> {
  return findEntry(store, keys.credential(hash));
}

/** Reads the team of a credential. */
export async function readTeam(store: Store, id: TeamId): Promise<Team> {
  const team = await getValue<Team>(store, keys.team(id));
  if (team !== null) return team;
  throw new StorageUnavailable(`Cannot find team ${id} of a stored credential`);
}

export function publicRecord({ team: _, ...record }: StoredCredential): CredentialRecord {
  return record;
}

/** Hashes a secret with SHA-256: enough for 128 random bits; synchronous is 20 times faster. */
export function hashOf(secret: string): Uint8Array {
  return new Uint8Array(createHash("sha256").update(secret).digest());
}

/**
 * Marks a credential that was refused because it has expired. The refused request does not wait
 * for the mark; a failed mark is retried by the next refusal.
 *
 * The mark is permanent, so a wrong clock must not set it. It is set only if the sweep clock, which
 * advances in bounded steps, could have reached the expiry as well.
 */
export function markEnded(store: Store, read: CredentialEntry, nowMs: number): void {
  outsideScope(() => tryMark(store, read, nowMs)).catch(() => {});
}

async function tryMark(store: Store, read: CredentialEntry, nowMs: number): Promise<void> {
  const { team, endsAt = Infinity, revokedAt, hasEnded = false } = read.value;
  if (revokedAt !== null || hasEnded || endsAt > nowMs) return;
  const clockMs = await getValue<number>(store, keys.sweepClock());
  if (clockMs === null || endsAt > nextSweepClock(clockMs, nowMs)) return;
  await store.writer.commit({
    team,
    checks: [read],
    sets: [{ key: read.key, value: { ...read.value, hasEnded: true } }],
  });
}

/**
 * Cache lifetime of a refusal: half of the time in which another process must notice a change. A
 * new secret is random, so it was never refused before its creation.
 */
const REFUSED_MS = 5_000;

/** Fraction of the memory share for one set of refused secrets: some 1,500 of them. */
const REFUSED_PART = 1 / 8;

/**
 * Limits of concurrent lookups. Waiting lookups hold no body and wait at most until the deadline.
 */
const LOOKUPS: SlotLimits = { all: 32, team: 4, waiting: 8_000, teamWaiting: 2_000 };

/**
 * Looks up one type of secret that is not cached: bounded in number, fair by origin, and with a cache of
 * recently refused secrets. None is refused without a lookup: a working secret is served whatever other
 * clients of its address send.
 */
export class SecretLookups {
  readonly #reads: Reads;
  /** Refused secrets by hash, because memory may be dumped. */
  readonly #refused: ByteCache<string, true>;
  /** Incremented when refusals are cleared, so that an earlier lookup is not cached. */
  #forgotten = 0;

  constructor({ deadlines, memory }: Pick<Store, "deadlines" | "memory">) {
    this.#reads = new Reads(deadlines, LOOKUPS);
    this.#refused = createByteCache({
      memory,
      share: "other",
      part: REFUSED_PART,
      bytesOf: (_, hash) => hash.length * BYTES_PER_CHAR,
      ttl: REFUSED_MS,
    });
  }

  /**
   * Looks up a secret; returns null without a read if it was refused recently.
   *
   * @param hash hash of the secret
   * @param line fairness key: an address or a team
   * @throws {StorageUnavailable} when the store fails or takes too long
   * @throws {Overloaded} when too many lookups wait
   */
  async find<T>(
    hash: Uint8Array,
    line: string,
    lookup: () => Promise<T | null>,
  ): Promise<T | null> {
    const name = hash.toHex();
    if (this.#refused.has(name)) return null;
    // Not counted as a read of the request.
    return await outsideScope(() =>
      this.#reads.run(line, async () => {
        // Another request may have been refused with the same secret meanwhile.
        if (this.#refused.has(name)) return null;
        const forgottenBefore = this.#forgotten;
        const result = await lookup();
        if (result === null && forgottenBefore === this.#forgotten) this.#refused.set(name, true);
        return result;
      })
    );
  }

  /** Clears all cached refusals. */
  forget(): void {
    this.#forgotten++;
    this.#refused.clear();
  }
}
