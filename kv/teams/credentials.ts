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
import { type KeysQuery, rotatedCredentials } from "../../domain/teams/key_list.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Region } from "../../domain/core/ids.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { inTime, LOST, untilCommittedInTime } from "../base/retry.ts";
import { keys } from "../base/keys.ts";
import { getAll, listRows, type Store } from "../store.ts";
import {
  credentialAudit,
  hashOf,
  insertCredential,
  insertion,
  markEnded,
  type NewCredential,
  newCredential,
  publicRecord,
  readCredential,
  readSecret,
  readTeam,
  SecretLookups,
  type StoredCredential,
} from "./credential_rows.ts";
import { CREDENTIAL_USES, LastUses, type Use } from "./last_uses.ts";

/**
 * Cache lifetime of a credential: half of the time in which another process must notice a change.
 * Then the credential is read again in the queue of its team: it has worked before, so it does not
 * wait for lookups of secrets that never did.
 */
const CACHE = { ttl: 5_000, noDeleteOnStaleGet: true } as const;

/** Fraction of the memory share for credentials; the rest is for their last uses. */
const CACHE_PART = 1 / 2;

/** Upper bound of a cached credential's bytes without its strings. */
const CREDENTIAL_BYTES = 800;

/** Maximum credentials scanned for one page of an agent's credentials. */
const SCANNED_MAX = 1_000;

/** Options of a credential store. */
interface CredentialOptions {
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

/** Store of teams' credentials. */
export type CredentialStore = ReturnType<typeof createCredentialStore>;

/** Creates the store. Methods reject with `StorageUnavailable` when the store fails. */
export function createCredentialStore(
  store: Store,
  environment: Environment,
  { region, refusedSecret, operatorKey = null }: CredentialOptions,
) {
  const { deadlines } = store;
  const operatorHash = operatorKey === null ? null : hashOf(operatorKey);
  const lastUses = new LastUses(store, CREDENTIAL_USES);
  const lookups = new SecretLookups(store);
  const cache = createByteCache<string, CachedCredential>({
    memory: store.memory,
    share: "credentials",
    part: CACHE_PART,
    bytesOf: ({ principal: { team } }, secret) =>
      CREDENTIAL_BYTES + BYTES_PER_CHAR *
        (secret.length + team.name.length + (team.ownerEmail?.length ?? 0)),
    ...CACHE,
  });
  const inOwnTime =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => (...args: Args) =>
      inTime(call(...args), deadlines);
  /** Incremented by each change, so that a read that began earlier is not cached. */
  let changes = 0;

  /**
   * Returns the principal of a secret; null if it is unknown or revoked. Synchronous on a cache hit: it
   * runs for every request.
   *
   * @param from names the client's network; lookups in the store are queued fairly by it
   */
  function find(
    secret: string,
    from: () => string = NO_ADDRESS,
  ): Principal | null | Promise<Principal | null> {
    if (secret === refusedSecret) return null;
    const cached = cache.get(secret);
    if (cached !== undefined) {
      const nowMs = environment.now();
      if (nowMs < cached.endsAt) {
        cached.use.usedAt = nowMs;
        return cached.principal;
      }
    }
    if (secret.startsWith("opk_")) return findOperator(secret);
    const hash = hashOf(secret);
    const line = cache.peek(secret, { allowStale: true })?.principal.team.id ?? from();
    return lookups.find(hash, line, () => findPrincipal(secret, hash));
  }

  /** Compares hashes: they have equal lengths and do not reveal how much of a secret matched. */
  function findOperator(secret: string): Principal | Promise<null> {
    const isOperator = operatorHash !== null && timingSafeEqual(operatorHash, hashOf(secret));
    return isOperator ? OPERATOR : Promise.resolve(null);
  }

  async function findPrincipal(secret: string, hash: Uint8Array): Promise<Principal | null> {
    const before = changes;
    // Another request may have filled the cache while this one was queued.
    const cached = cache.get(secret);
    if (cached !== undefined && environment.now() < cached.endsAt) return cached.principal;
    const read = await readSecret(store, hash);
    const nowMs = environment.now();
    if (read === null || !isLive(read.value, nowMs)) {
      cache.delete(secret);
      if (read !== null) markEnded(store, read, nowMs);
      return null;
    }
    const { id, grant, endsAt = Infinity } = read.value;
    const team = await readTeam(store, read.value.team);
    const principal: Principal = { credentialId: id, team, grant };
    const use = lastUses.note(team.id, id, nowMs);
    if (before === changes) cache.set(secret, { principal, endsAt, use });
    return principal;
  }

  /** Removes one credential from the cache; other credentials stay cached. */
  function forgetOne(id: string): void {
    changes++;
    for (const [secret, { principal }] of cache.entries()) {
      if (principal.credentialId === id) cache.delete(secret);
    }
  }

  async function create({ id: team }: Pick<Team, "id">, spec: CredentialSpec, by: string) {
    const created = newCredential(spec, region, environment);
    await insertCredential(store, team, created, by);
    return created;
  }

  const revoke = (team: Team, id: string, by: string) =>
    untilCommittedInTime("revoke a key", store.deadlines, async () => {
      const read = await readCredential(store, team.id, id);
      if (read === null) return null;
      const { key, value: stored } = read;
      if (stored.revokedAt !== null) return publicRecord(stored);
      const revokedAt = environment.now();
      const revoked = { ...stored, revokedAt };
      const logged = credentialAudit("credential.revoked", team.id, stored, by, revokedAt);
      const committed = await store.writer.commit({
        team: team.id,
        checks: [read],
        sets: [{ key, value: revoked }, ...logged],
      });
      if (committed === null) return LOST;
      forgetOne(id);
      return publicRecord(revoked);
    });

  const rotate = (team: Team, id: string, overlapMs: number, by: string) =>
    untilCommittedInTime<NewCredential | null>(
      "rotate a key",
      store.deadlines,
      async () => {
        const read = await readCredential(store, team.id, id);
        if (read === null) return null;
        const { key, value: stored } = read;
        const { record, secret } = newCredential(stored, region, environment);
        const nowMs = record.createdAt;
        const old = rotatedCredentials(stored, record.id, overlapMs, nowMs, by);
        const successor = { record: { ...record, replaces: id }, secret };
        const { checks, sets } = insertion(team.id, successor);
        const details = { replaced_by: record.id, ends_at: formatInstant(nowMs + overlapMs) };
        const logged = credentialAudit("credential.rotated", team.id, stored, by, nowMs, details);
        const committed = await store.writer.commit({
          team: team.id,
          checks: [read, ...checks],
          sets: [{ key, value: { ...stored, ...old } }, ...sets, ...logged],
        });
        if (committed === null) return LOST;
        forgetOne(id);
        return successor;
      },
    );

  async function read({ id: team }: Team, id: string) {
    const stored = await readCredential(store, team, id);
    if (stored === null) return null;
    const [lastUsedAt = null] = await lastUses.read(team, [id]);
    return { ...publicRecord(stored.value), lastUsedAt };
  }

  async function list({ id: team }: Team, { limit, after, agent }: KeysQuery) {
    const max = agent === null ? limit : SCANNED_MAX;
    const range = keys.teamCredentialsAfter(team, after);
    const rows = await listRows<Uint8Array>(store, range, { limit: max + 1 });
    const entries = await getAll(
      store,
      rows.slice(0, max).map(({ value }) => keys.credential(value)),
    );
    const scanned = entries.map(({ value }) => value as StoredCredential);
    const matching = scanned.filter(({ grant }) =>
      agent === null || (grant.kind === "ping_token" && grant.agent === agent)
    );
    const page = matching.slice(0, limit);
    const last = matching.length > limit ? page.at(-1) : scanned.at(-1);
    const isAll = matching.length <= limit && rows.length <= max;
    const uses = await lastUses.read(team, page.map(({ id }) => id));
    return {
      records: page.map((record, at) => ({
        ...publicRecord(record),
        lastUsedAt: uses[at] ?? null,
      })),
      next: isAll ? null : last?.id ?? null,
    };
  }

  return {
    find,
    /** Creates a credential. The secret is returned here and stored nowhere. */
    create: inOwnTime(create),
    /** Revokes a credential; null if the team has none with this id. Idempotent. */
    revoke: inOwnTime(revoke),
    /**
     * Replaces a credential by a new one; null if the team has none with this id. The old secret
     * remains valid for the overlap.
     */
    rotate: inOwnTime(rotate),
    /** Reads a credential; null if the team has none with this id. */
    read: inOwnTime(read),
    /** Lists a page of the team's credentials, oldest first; it may be short. */
    list: inOwnTime(list),
    /** Clears cached credentials and teams after one of them changed. */
    forget() {
      changes++;
      cache.clear();
      lookups.forget();
    },
    /** Stores the last use of credentials where an update is due; with `all`, of every credential. */
    writeUses: (all = false) => lastUses.write(all),
  };
}

/** Queue of requests without an address. */
const NO_ADDRESS = () => "";
