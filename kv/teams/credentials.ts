/**
 * The credentials of teams in the store: hashed, cached briefly, stopped at once.
 *
 * @module
 */
import { timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import { isLive, OPERATOR, type Principal, type Team } from "../../domain/credentials.ts";
import { StorageUnavailable } from "../../domain/errors.ts";
import type { CredentialSpec, CredentialStore, Environment } from "../../domain/ports.ts";
import type { Region } from "../../domain/run/ids.ts";
import type { KeyPage, KeysQuery, ListedCredential } from "../../domain/teams/key_list.ts";
import { replaced, type RotateOutcome } from "../../domain/teams/rotation.ts";
import { formatInstant } from "../../domain/time.ts";
import { inTime } from "../deadline.ts";
import { keys } from "../keys.ts";
import { COMMIT_ATTEMPTS_MAX } from "../kv_limits.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { auditRows } from "./audit_log.ts";
import {
  credentialEntry,
  hashOf,
  insertion,
  newCredential,
  publicRecord,
  readByHash,
  readCredential,
  readTeam,
  type StoredCredential,
} from "./credential_rows.ts";
import { LastUses, type Use } from "./last_uses.ts";

export { createTeam, ensureFirstTeam, setTeamRate } from "./first_team.ts";

/** Credentials remembered, and for how long: half of what another process may take to notice. */
const CACHE = { max: 10_000, ttl: 5_000, ttlResolution: 0 } as const;

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

class Credentials implements CredentialStore {
  readonly #store: Store;
  readonly #environment: Environment;
  readonly #options: CredentialOptions;
  readonly #operatorHash: Uint8Array | null;
  readonly #uses: LastUses;
  readonly #cache = new LRUCache<string, Known>(CACHE);
  /** Grows with each change, so that a read that began before one is not remembered after it. */
  #changes = 0;

  constructor(store: Store, environment: Environment, options: CredentialOptions) {
    this.#store = store;
    this.#environment = environment;
    this.#options = options;
    const { operatorKey = null } = options;
    this.#operatorHash = operatorKey === null ? null : hashOf(operatorKey);
    this.#uses = new LastUses(store);
  }

  /** Answers without waiting where it can: this stands in the way of every request. */
  find(secret: string): Principal | null | Promise<Principal | null> {
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
    return inTime(this.#look(secret), this.#store.deadlines);
  }

  /** Hashes have one length and say nothing of how much of a secret was right. */
  #findOperator(secret: string): Principal | Promise<null> {
    const hash = this.#operatorHash;
    const isKnown = hash !== null && timingSafeEqual(hash, hashOf(secret));
    return isKnown ? OPERATOR : Promise.resolve(null);
  }

  async #look(secret: string): Promise<Principal | null> {
    const before = this.#changes;
    const [entry] = await getMany(this.#store, [keys.credential(hashOf(secret))]);
    const stored = (entry?.value ?? null) as StoredCredential | null;
    const nowMs = this.#environment.now();
    if (stored === null || !isLive(stored, nowMs)) return null;
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

  async #revoke(team: Team, id: string, by: string): ReturnType<CredentialStore["revoke"]> {
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
    // Only a rotation or another revocation changes a credential, and of each there is one.
    if (committed === null) return await this.#revoke(team, id, by);
    this.forget();
    return publicRecord(revoked);
  }

  rotate(team: Team, id: string, overlapMs: number, by: string): Promise<RotateOutcome> {
    return inTime(this.#rotate(team, id, overlapMs, by), this.#store.deadlines);
  }

  async #rotate(team: Team, id: string, overlapMs: number, by: string): Promise<RotateOutcome> {
    for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt++) {
      const read = await readCredential(this.#store, team.id, id);
      if (read === null) return null;
      const { key, stored, version } = read;
      const { record, secret } = newCredential(stored, this.#options.region, this.#environment);
      const nowMs = record.createdAt;
      const old = replaced(stored, record.id, overlapMs, nowMs);
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
      if (committed === null) continue;
      this.forget();
      return { ok: true, value: successor };
    }
    throw new StorageUnavailable("Cannot rotate a key: other writers were always first");
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
