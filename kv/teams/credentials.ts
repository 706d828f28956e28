/**
 * The credentials of teams in the store: hashed, cached briefly, stopped at once.
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
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";
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
 * How long a credential is remembered: half of what another process may take to notice. After that it is
 * looked up again, in the line of its team: it has worked, so it does not wait behind secrets that never
 * did.
 */
const CACHE = { ttl: 5_000, ttlResolution: 0, noDeleteOnStaleGet: true } as const;

/** Part of its share that credentials take; the other one is for their last uses. */
const CACHE_PART = 1 / 2;

/** Bytes of a credential in memory besides its texts, from above. */
const KNOWN_BYTES = 800;

/** Credentials looked at for one page of those of an agent. */
const LOOKED_AT_MAX = 1_000;

/** What makes a credential store: the region of its secrets, and secrets with a meaning of their own. */
export interface CredentialOptions {
  /** Region in the text of new secrets. */
  readonly region: Region;
  /** A secret to treat as unknown wherever it is stored. */
  readonly refusedSecret: string | null;
  /** The operator's key; null or absent where there is no operator. */
  readonly operatorKey?: string | null;
}

/** A credential that works, as it is remembered. */
interface Known {
  readonly principal: Principal;
  /** When it stops by itself, unix milliseconds. */
  readonly endsAt: number;
  /** Where its last use is noted. */
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

/** The line of those who come from nowhere in particular. */
const NOWHERE = () => "";

class Credentials implements CredentialStore {
  readonly #store: Store;
  readonly #environment: Environment;
  readonly #options: CredentialOptions;
  readonly #operatorHash: Uint8Array | null;
  readonly #uses: LastUses;
  readonly #cache: ByteCache<string, Known>;
  readonly #lookups: SecretLookups;
  /** Grows with each change, so that a read that began before one is not remembered after it. */
  #changes = 0;

  constructor(store: Store, environment: Environment, options: CredentialOptions) {
    this.#store = store;
    this.#environment = environment;
    this.#options = options;
    const { operatorKey = null } = options;
    this.#operatorHash = operatorKey === null ? null : hashOf(operatorKey);
    this.#uses = new LastUses(store);
    this.#lookups = new SecretLookups(store);
    this.#cache = new ByteCache({
      memory: store.memory,
      share: "credentials",
      part: CACHE_PART,
      bytesOf: ({ principal: { team } }, secret) =>
        KNOWN_BYTES + BYTES_PER_CHAR *
          (secret.length + team.name.length + (team.ownerEmail?.length ?? 0)),
    }, CACHE);
  }

  /** Answers without waiting where it can: this stands in the way of every request. */
  find(secret: string, from = NOWHERE): Principal | null | Promise<Principal | null> {
    if (secret === this.#options.refusedSecret) return null;
    const known = this.#cache.get(secret);
    if (known !== undefined) {
      const nowMs = this.#environment.now();
      if (nowMs < known.endsAt) {
        known.use.usedAt = nowMs;
        return known.principal;
      }
    }
    if (secret.startsWith("opk_")) return this.#findOperator(secret);
    const hash = hashOf(secret);
    const line = this.#cache.peekStale(secret)?.principal.team.id ?? from();
    return this.#lookups.find(hash, line, () => this.#look(secret, hash));
  }

  /** Hashes have one length and say nothing of how much of a secret was right. */
  #findOperator(secret: string): Principal | Promise<null> {
    const hash = this.#operatorHash;
    const isKnown = hash !== null && timingSafeEqual(hash, hashOf(secret));
    return isKnown ? OPERATOR : Promise.resolve(null);
  }

  async #look(secret: string, hash: Uint8Array): Promise<Principal | null> {
    const before = this.#changes;
    // Of many requests that waited for their turn the first has looked for all.
    const known = this.#cache.get(secret);
    if (known !== undefined && this.#environment.now() < known.endsAt) return known.principal;
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

  /** Looks at one credential again before it is let in: those of other teams stay remembered. */
  #forgetOne(id: string): void {
    this.#changes++;
    for (const [secret, { principal }] of this.#cache.entries()) {
      if (principal.credentialId === id) this.#cache.delete(secret);
    }
  }

  async create({ id: team }: Team, spec: CredentialSpec, by: string) {
    const made = newCredential(spec, this.#options.region, this.#environment);
    const { checks, sets } = insertion(team, made);
    const at = made.record.createdAt;
    const entry = credentialEntry("credential.created", team, made.record, by, at);
    const write = { team, checks, sets: [...sets, ...auditRows(entry)] };
    const committed = await inTime(this.#store.writer.commit(write), this.#store.deadlines);
    if (committed === null) throw new StorageUnavailable("Cannot store a key that exists already");
    return made;
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
    const max = agent === null ? limit : LOOKED_AT_MAX;
    const range = keys.teamCredentialsAfter(team, after);
    const rows = await listRows<Uint8Array>(this.#store, range, { limit: max + 1 });
    const looked = await readByHash(this.#store, rows.slice(0, max).map(({ value }) => value));
    const meant = looked.filter(({ grant }) =>
      agent === null || (grant.kind === "ping_token" && grant.agent === agent)
    );
    const shown = meant.slice(0, limit);
    const last = meant.length > limit ? shown.at(-1) : looked.at(-1);
    const isAll = meant.length <= limit && rows.length <= max;
    const uses = await this.#uses.read(team, shown.map(({ id }) => id));
    return {
      records: shown.map((each, at) => ({ ...publicRecord(each), lastUsedAt: uses[at] ?? null })),
      next: isAll ? null : last?.id ?? null,
    };
  }

  writeUses(all = false): Promise<void> {
    return this.#uses.write(all);
  }
}
