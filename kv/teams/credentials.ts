/**
 * Teams and their credentials in the store: hashed, cached briefly, revoked at once.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import {
  type CredentialRecord,
  type Principal,
  SCOPES,
  SECRET_PREFIX,
  type Team,
  type TeamId,
} from "../../domain/credentials.ts";
import { StorageUnavailable } from "../../domain/errors.ts";
import { type Region, uuid7Hex } from "../../domain/run/ids.ts";
import type { CredentialSpec, CredentialStore, Environment } from "../../domain/ports.ts";
import type { Rate } from "../../domain/plan/token_bucket.ts";
import type { Tier } from "../../domain/plan/tiers.ts";
import { inTime } from "../deadline.ts";
import { keys } from "../keys.ts";
import { GET_MANY_KEYS_MAX } from "../kv_limits.ts";
import { getMany, listRows, newName, type Store } from "../store.ts";

/** Credentials remembered, and for how long: half of what another process may take to notice. */
const CACHE = { max: 10_000, ttl: 5_000, ttlResolution: 0 } as const;

/** A credential as stored at the hash of its secret. */
interface StoredCredential extends CredentialRecord {
  readonly team: TeamId;
}

/** What makes a credential store: the region of its secrets, and secrets it never accepts. */
export interface CredentialOptions {
  /** Region in the text of new secrets. */
  readonly region: Region;
  /** A secret to treat as unknown wherever it is stored. */
  readonly refusedSecret: string | null;
}

/** Creates the store of credentials. */
export function createCredentialStore(
  store: Store,
  environment: Environment,
  options: CredentialOptions,
): CredentialStore {
  const cache = new LRUCache<string, Principal>(CACHE);
  // Grows with each revocation, so that a read that began before one is not remembered after it.
  let revocations = 0;

  /** Answers without waiting where it can: this stands in the way of every request. */
  function find(secret: string): Principal | null | Promise<Principal | null> {
    if (secret === options.refusedSecret) return null;
    return cache.get(secret) ?? inTime(look(secret), store.deadlines);
  }

  async function look(secret: string): Promise<Principal | null> {
    const before = revocations;
    const principal = await readPrincipal(store, secret);
    if (principal !== null && before === revocations) cache.set(secret, principal);
    return principal;
  }

  async function create(team: Team, spec: CredentialSpec) {
    const random = environment.random(16).toHex();
    const secret = `${SECRET_PREFIX[spec.grant.kind]}_${options.region}_${random}`;
    const record = newRecord(spec, options.region, environment);
    await insertCredential(store, team.id, record, secret);
    return { record, secret };
  }

  async function revoke(team: Team, id: string): Promise<CredentialRecord | null> {
    const [pointer] = await getMany(store, [keys.teamCredential(team.id, id)]);
    if (!(pointer?.value instanceof Uint8Array)) return null;
    const key = keys.credential(pointer.value);
    const [entry] = await getMany(store, [key]);
    const stored = entry?.value as StoredCredential;
    if (stored.revokedAt !== null) return publicRecord(stored);
    const revoked = { ...stored, revokedAt: environment.now() };
    const committed = await store.writer.commit({
      team: team.id,
      checks: [{ key, versionstamp: entry?.versionstamp ?? null }],
      sets: [{ key, value: revoked }],
    });
    // Only another revocation changes a credential.
    if (committed === null) return await revoke(team, id);
    revocations++;
    cache.clear();
    return publicRecord(revoked);
  }

  async function list(team: Team): Promise<CredentialRecord[]> {
    const hashes = await listRows(store, { prefix: keys.teamCredentials(team.id) });
    const records: CredentialRecord[] = [];
    for (let at = 0; at < hashes.length; at += GET_MANY_KEYS_MAX) {
      const wanted = hashes.slice(at, at + GET_MANY_KEYS_MAX)
        .map(({ value }) => keys.credential(value as Uint8Array));
      for (const { value } of await getMany(store, wanted)) {
        records.push(publicRecord(value as StoredCredential));
      }
    }
    return records;
  }

  return {
    find,
    create: (...args) => inTime(create(...args), store.deadlines),
    list: (team) => inTime(list(team), store.deadlines),
    revoke: (...args) => inTime(revoke(...args), store.deadlines),
  };
}

/** The first team: what a start finds or creates. */
export interface FirstTeam {
  /** The team. */
  readonly team: Team;
  /** Its first key, when this start created one. */
  readonly createdKey: string | null;
}

/** What is known of the first team at a start. */
export interface FirstTeamOptions {
  /** Region of its first key. */
  readonly region: Region;
  /** A key that is to work for it; null to mint one where it has none. */
  readonly key: string | null;
  /** Its plan; null to leave it as it is. */
  readonly tier: Tier | null;
  /** Where its notices are sent; null or absent to leave that as it is. */
  readonly ownerEmail?: string | null;
}

/**
 * Makes sure that there is a team to begin with and that the given key, if any, works for it.
 *
 * An empty store gets the team `default` on the given plan with the key, or with one minted here. A store that has a
 * team gets the key added when it has never seen it: that is the way back in for an owner who lost
 * every key. A revoked key stays revoked.
 */
export async function ensureFirstTeam(
  store: Store,
  credentials: CredentialStore,
  environment: Environment,
  options: FirstTeamOptions,
): Promise<FirstTeam> {
  const { region, key } = options;
  const [pointer] = await getMany(store, [keys.firstTeam()]);
  const team = pointer?.versionstamp
    ? await withOptions(store, await readTeam(store, pointer.value as TeamId), options)
    : await withOptions(store, await createFirstTeam(store, options.tier ?? FIRST_TIER), options);
  if (key === null) {
    if ((await credentials.list(team)).length > 0) return { team, createdKey: null };
    const { secret } = await credentials.create(team, FIRST_KEY);
    return { team, createdKey: secret };
  }
  const [known] = await getMany(store, [keys.credential(hashOf(key))]);
  if (known?.versionstamp) return { team, createdKey: null };
  await insertCredential(store, team.id, newRecord(FIRST_KEY, region, environment), key);
  return { team, createdKey: key };
}

/** Plan of a first team that nobody chose one for. */
const FIRST_TIER: Tier = "business";

const FIRST_KEY: CredentialSpec = { name: "first key", grant: { kind: "api_key", scopes: SCOPES } };

function newRecord(
  spec: CredentialSpec,
  region: Region,
  environment: Environment,
): CredentialRecord {
  const createdAt = environment.now();
  const id = `key_${region}_${uuid7Hex(createdAt, environment.random(10))}`;
  return { id, ...spec, createdAt, revokedAt: null };
}

/** Creates a team. */
export async function createTeam(store: Store, tier: Tier, name = "team"): Promise<Team> {
  const team: Team = { id: newName() as TeamId, name, tier };
  await store.writer.commit({ team: team.id, sets: [{ key: keys.team(team.id), value: team }] });
  return team;
}

/** Moves a team to a plan and gives it an owner's address, where they are given. */
async function withOptions(store: Store, team: Team, options: FirstTeamOptions): Promise<Team> {
  const { tier, ownerEmail } = options;
  const email = ownerEmail ?? team.ownerEmail;
  const moved = { ...team, tier: tier ?? team.tier, ...(email ? { ownerEmail: email } : {}) };
  if (moved.tier === team.tier && moved.ownerEmail === team.ownerEmail) return team;
  await store.writer.commit({ team: team.id, sets: [{ key: keys.team(team.id), value: moved }] });
  return moved;
}

/** Gives a team a request rate of its own, or with `null` its plan's again (decision 36). */
export async function setTeamRate(store: Store, id: TeamId, rate: Rate | null): Promise<Team> {
  const { rate: _, ...rest } = await readTeam(store, id);
  const team: Team = rate === null ? rest : { ...rest, rate };
  await store.writer.commit({ team: id, sets: [{ key: keys.team(id), value: team }] });
  return team;
}

/** Creates the team `default` and remembers it, unless another process was faster. */
async function createFirstTeam(store: Store, tier: Tier): Promise<Team> {
  const team = await createTeam(store, tier, "default");
  const key = keys.firstTeam();
  const checks = [{ key, versionstamp: null }];
  const committed = await store.writer.commit({
    team: team.id,
    checks,
    sets: [{ key, value: team.id }],
  });
  if (committed !== null) return team;
  const [pointer] = await getMany(store, [key]);
  return await readTeam(store, pointer?.value as TeamId);
}

async function insertCredential(
  store: Store,
  team: TeamId,
  record: CredentialRecord,
  secret: string,
): Promise<void> {
  const hash = hashOf(secret);
  const value: StoredCredential = { ...record, team };
  const committed = await store.writer.commit({
    team,
    checks: [{ key: keys.credential(hash), versionstamp: null }],
    sets: [
      { key: keys.credential(hash), value },
      { key: keys.teamCredential(team, record.id), value: hash },
    ],
  });
  if (committed === null) throw new StorageUnavailable("Cannot store a key that exists already");
}

async function readPrincipal(store: Store, secret: string): Promise<Principal | null> {
  const [entry] = await getMany(store, [keys.credential(hashOf(secret))]);
  const stored = (entry?.value ?? null) as StoredCredential | null;
  if (stored === null || stored.revokedAt !== null) return null;
  const team = await readTeam(store, stored.team);
  return { credentialId: stored.id, team, grant: stored.grant };
}

async function readTeam(store: Store, id: TeamId): Promise<Team> {
  const [entry] = await getMany(store, [keys.team(id)]);
  if (entry?.value) return entry.value as Team;
  throw new StorageUnavailable(`Cannot find team ${id} that a credential belongs to`);
}

function publicRecord({ team: _, ...record }: StoredCredential): CredentialRecord {
  return record;
}

/** SHA-256: enough for 128 random bits, and synchronous because that is 20 times faster. */
function hashOf(secret: string): Uint8Array {
  return new Uint8Array(createHash("sha256").update(secret).digest());
}
