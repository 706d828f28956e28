/**
 * Stores teams' credentials: hashed, cached for seconds, revoked immediately.
 *
 * @module
 */
import { timingSafeEqual } from "node:crypto";
import {
  type CredentialSpec,
  isLive,
  OPERATOR,
  type Principal,
} from "../../domain/teams/credentials.ts";
import type { Team } from "../../domain/teams/team.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type {
  CredentialStore,
  KeyPage,
  KeysQuery,
  ListedCredential,
} from "../../domain/teams/key_list.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Region } from "../../domain/core/ids.ts";
import { rotatedCredentials, type RotateOutcome } from "../../domain/teams/rotation.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../base/byte_cache.ts";
import { inTime } from "../base/deadline.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { listRows, type Store } from "../store.ts";
import { auditRows } from "./audit_log.ts";
import {
  credentialEntry,
  hashOf,
  insertion,
  newCredential,
  publicRecord,
  readByHash,
  readCredential,
  readSecret,
  readTeam,
} from "./credential_rows.ts";
import { markEnded } from "./ended_credentials.ts";
import { LastUses, type Use } from "./last_uses.ts";
import { SecretLookups } from "./secret_lookups.ts";

export { ensureFirstTeam, insertTeam, setTeamRate } from "./first_team.ts";

/**
 * Cache lifetime of a credential: half of the time in which another process must notice a change.
 * Then the credential is read again in the queue of its team: it has worked before, so it does not
 * wait behind secrets that never did.
 */
const CACHE = { ttl: 5_000, noDeleteOnStaleGet: true } as const;

/** Fraction of the memory share for credentials; the rest is for their last uses. */
const CACHE_PART = 1 / 2;

/** Upper bound of a cached credential's bytes without its strings. */
const CREDENTIAL_BYTES = 800;

/** Maximum credentials scanned for one page of an agent's credentials. */
const SCANNED_MAX = 1_000;

/** Options of a credential store. */
export interface CredentialOptions {
  /** Region in new secrets. */
  readonly region: Region;
  /** A secret that is refused even if it is stored. */
  readonly refusedSecret: string | null;
  /** The operator's key; null or absent if there is no operator. */
  readonly operatorKey?: string | null;
}

/** A cached live credential. */
interface CachedCredential {
  readonly principal: Principal;
  /** Expiry, unix milliseconds. */
  readonly endsAt: number;
  /** Record of its last use. */
  readonly use: Use;
}

/** Creates the store of credentials. */
export function createCredentialStore(
  store: Store,
  environment: Environment,
  options: CredentialOptions,
): CredentialStore {
  return new Credentials(store, environment, options);
}

/** Queue of requests without an address. */
const NO_ADDRESS = () => "";

class Credentials implements CredentialStore {
  readonly #store: Store;
  readonly #environment: Environment;
  readonly #options: CredentialOptions;
  readonly #operatorHash: Uint8Array | null;
  readonly #uses: LastUses;
  readonly #cache: ByteCache<string, CachedCredential>;
  readonly #lookups: SecretLookups;
  /** Incremented by each change, so that a read that began earlier is not cached. */
  #changes = 0;

  constructor(store: Store, environment: Environment, options: CredentialOptions) {
    this.#store = store;
    this.#environment = environment;
    this.#options = options;
    const { operatorKey = null } = options;
    this.#operatorHash = operatorKey === null ? null : hashOf(operatorKey);
    this.#uses = new LastUses(store);
    this.#lookups = new SecretLookups(store);
    this.#cache = createByteCache({
      memory: store.memory,
      share: "credentials",
      part: CACHE_PART,
      bytesOf: ({ principal: { team } }, secret) =>
        CREDENTIAL_BYTES + BYTES_PER_CHAR *
          (secret.length + team.name.length + (team.ownerEmail?.length ?? 0)),
      ...CACHE,
    });
  }

  /** Synchronous on a cache hit: it runs for every request. */
  find(secret: string, from = NO_ADDRESS): Principal | null | Promise<Principal | null> {
    if (secret === this.#options.refusedSecret) return null;
    const cached = this.#cache.get(secret);
    if (cached !== undefined) {
      const nowMs = this.#environment.now();
      if (nowMs < cached.endsAt) {
        cached.use.usedAt = nowMs;
        return cached.principal;
      }
    }
    if (secret.startsWith("opk_")) return this.#findOperator(secret);
    const hash = hashOf(secret);
    const line = this.#cache.peek(secret, { allowStale: true })?.principal.team.id ?? from();
    return this.#lookups.find(hash, line, () => this.#lookUp(secret, hash));
  }

  /** Compares hashes: they have equal lengths and do not reveal how much of a secret matched. */
  #findOperator(secret: string): Principal | Promise<null> {
    const hash = this.#operatorHash;
    const isOperator = hash !== null && timingSafeEqual(hash, hashOf(secret));
    return isOperator ? OPERATOR : Promise.resolve(null);
  }

  async #lookUp(secret: string, hash: Uint8Array): Promise<Principal | null> {
    const before = this.#changes;
    // Another request may have filled the cache while this one was queued.
    const cached = this.#cache.get(secret);
    if (cached !== undefined && this.#environment.now() < cached.endsAt) return cached.principal;
    const read = await readSecret(this.#store, hash);
    const nowMs = this.#environment.now();
    if (read === null || !isLive(read.stored, nowMs)) {
      this.#cache.delete(secret);
      if (read !== null) markEnded(this.#store, read, nowMs);
      return null;
    }
    const { stored } = read;
    const { id, grant, endsAt = Infinity } = stored;
    const team = await readTeam(this.#store, stored.team);
    const principal: Principal = { credentialId: id, team, grant };
    const use = this.#uses.note(team.id, id, nowMs);
    if (before === this.#changes) this.#cache.set(secret, { principal, endsAt, use });
    return principal;
  }

  forget(): void {
    this.#changes++;
    this.#cache.clear();
    this.#lookups.forget();
  }

  /** Removes one credential from the cache; other credentials stay cached. */
  #forgetOne(id: string): void {
    this.#changes++;
    for (const [secret, { principal }] of this.#cache.entries()) {
      if (principal.credentialId === id) this.#cache.delete(secret);
    }
  }

  async create({ id: team }: Team, spec: CredentialSpec, by: string) {
    const created = newCredential(spec, this.#options.region, this.#environment);
    const { checks, sets } = insertion(team, created);
    const at = created.record.createdAt;
    const entry = credentialEntry("credential.created", team, created.record, by, at);
    const write = { team, checks, sets: [...sets, ...auditRows(entry)] };
    const committed = await inTime(this.#store.writer.commit(write), this.#store.deadlines);
    if (committed === null) throw new StorageUnavailable("Cannot store a key that already exists");
    return created;
  }

  revoke(team: Team, id: string, by: string) {
    return inTime(this.#revoke(team, id, by), this.#store.deadlines);
  }

  #revoke(team: Team, id: string, by: string): ReturnType<CredentialStore["revoke"]> {
    return untilCommitted("revoke a key", async () => {
      const read = await readCredential(this.#store, team.id, id);
      if (read === null) return null;
      const { key, stored, version } = read;
      if (stored.revokedAt !== null) return publicRecord(stored);
      const revokedAt = this.#environment.now();
      const revoked = { ...stored, revokedAt };
      const entry = credentialEntry("credential.revoked", team.id, stored, by, revokedAt);
      const committed = await this.#store.writer.commit({
        team: team.id,
        checks: [{ key, versionstamp: version }],
        sets: [{ key, value: revoked }, ...auditRows(entry)],
      });
      if (committed === null) return LOST;
      this.#forgetOne(id);
      return publicRecord(revoked);
    });
  }

  rotate(team: Team, id: string, overlapMs: number, by: string): Promise<RotateOutcome> {
    return inTime(this.#rotate(team, id, overlapMs, by), this.#store.deadlines);
  }

  #rotate(team: Team, id: string, overlapMs: number, by: string): Promise<RotateOutcome> {
    return untilCommitted("rotate a key", async () => {
      const read = await readCredential(this.#store, team.id, id);
      if (read === null) return null;
      const { key, stored, version } = read;
      const { record, secret } = newCredential(stored, this.#options.region, this.#environment);
      const nowMs = record.createdAt;
      const old = rotatedCredentials(stored, record.id, overlapMs, nowMs, by);
      if (!old.ok) return old;
      const endsAt = nowMs + overlapMs;
      const successor = { record: { ...record, replaces: id }, secret };
      const { checks, sets } = insertion(team.id, successor);
      const details = { replaced_by: record.id, ends_at: formatInstant(endsAt) };
      const entry = credentialEntry("credential.rotated", team.id, stored, by, nowMs, details);
      const committed = await this.#store.writer.commit({
        team: team.id,
        checks: [{ key, versionstamp: version }, ...checks],
        sets: [{ key, value: { ...stored, ...old.value } }, ...sets, ...auditRows(entry)],
      });
      if (committed === null) return LOST;
      this.#forgetOne(id);
      return { ok: true, value: successor };
    });
  }

  read(team: Team, id: string): Promise<ListedCredential | null> {
    return inTime(this.#read(team, id), this.#store.deadlines);
  }

  async #read({ id: team }: Team, id: string): Promise<ListedCredential | null> {
    const [found, [lastUsedAt]] = await Promise.all([
      readCredential(this.#store, team, id),
      this.#uses.read(team, [id]),
    ]);
    return found && { ...publicRecord(found.stored), lastUsedAt: lastUsedAt ?? null };
  }

  list(team: Team, query: KeysQuery): Promise<KeyPage> {
    return inTime(this.#list(team, query), this.#store.deadlines);
  }

  async #list({ id: team }: Team, { limit, after, agent }: KeysQuery): Promise<KeyPage> {
    const max = agent === null ? limit : SCANNED_MAX;
    const range = keys.teamCredentialsAfter(team, after);
    const rows = await listRows<Uint8Array>(this.#store, range, { limit: max + 1 });
    const scanned = await readByHash(this.#store, rows.slice(0, max).map(({ value }) => value));
    const matching = scanned.filter(({ grant }) =>
      agent === null || (grant.kind === "ping_token" && grant.agent === agent)
    );
    const page = matching.slice(0, limit);
    const last = matching.length > limit ? page.at(-1) : scanned.at(-1);
    const isAll = matching.length <= limit && rows.length <= max;
    const uses = await this.#uses.read(team, page.map(({ id }) => id));
    return {
      records: page.map((record, at) => ({
        ...publicRecord(record),
        lastUsedAt: uses[at] ?? null,
      })),
      next: isAll ? null : last?.id ?? null,
    };
  }

  writeUses(all = false): Promise<void> {
    return this.#uses.write(all);
  }
}
