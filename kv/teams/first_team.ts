/**
 * Finds or creates the first team at start.
 *
 * @module
 */
import type { CredentialRecord } from "../../domain/teams/credentials.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { Region, TeamId } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { Rate } from "../../domain/core/token_bucket.ts";
import type { Tier } from "../../domain/teams/plans.ts";
import type { CredentialStore } from "../../domain/teams/key_list.ts";
import type { Environment } from "../../domain/core/environment.ts";
import { SETTINGS_ACTOR } from "../../domain/teams/audit_log.ts";
import type { TeamChange } from "../../domain/teams/team_change.ts";
import { keys, LEDGER_FORMAT } from "../base/keys.ts";
import { newTeamId } from "../base/names.ts";
import { getEntry, getValue, listRows, type Store } from "../store.ts";
import { auditRows } from "./audit_log.ts";
import { credentialEntry, hashOf, insertion, newRecord, readTeam } from "./credential_rows.ts";
import { changeTeam, FIRST_KEY, newTeam } from "./teams.ts";

/** Result of {@link ensureFirstTeam}. */
export interface FirstTeam {
  readonly team: Team;
  /** The first key, if this start created it. */
  readonly createdKey: string | null;
}

/** Settings of the first team. */
export interface FirstTeamOptions {
  readonly region: Region;
  /** A key that must work for it; null to generate one if it has none. */
  readonly key: string | null;
  /** A refused key that does not count as a key of the team; null or absent for none. */
  readonly refusedKey?: string | null;
  /** Plan; null to leave it unchanged. */
  readonly tier: Tier | null;
  /** Email address for notices; null or absent to leave it unchanged. */
  readonly ownerEmail?: string | null;
}

/**
 * Ensures that the first team exists and that the given key, if any, works for it.
 *
 * An empty store gets the team `default` with the given plan, and with the given key or a generated
 * one. In an existing store, an unknown key is added to the team, which restores access for an
 * owner who lost every key. A revoked key stays revoked.
 */
export async function ensureFirstTeam(
  store: Store,
  credentials: CredentialStore,
  environment: Environment,
  options: FirstTeamOptions,
): Promise<FirstTeam> {
  const { region, key } = options;
  const id = await getValue<TeamId>(store, keys.firstTeam());
  const team = id !== null
    ? await withOptions(store, id, environment, options)
    : await createDefaultTeam(store, environment, options);
  if (key === null) {
    const refused = options.refusedKey ? hashOf(options.refusedKey).toHex() : null;
    const range = keys.teamCredentialsAfter(team.id, null);
    const hashes = await listRows<Uint8Array>(store, range, { limit: 2 });
    const isUsable = hashes.some(({ value }) => value.toHex() !== refused);
    if (isUsable) return { team, createdKey: null };
    const { secret } = await credentials.create(team, FIRST_KEY, SETTINGS_ACTOR);
    return { team, createdKey: secret };
  }
  const existing = await getEntry(store, keys.credential(hashOf(key)));
  if (existing.versionstamp !== null) return { team, createdKey: null };
  await addKey(store, team.id, newRecord(FIRST_KEY, region, environment), key);
  return { team, createdKey: key };
}

/** Default plan of a first team. */
const FIRST_TIER: Tier = "business";

async function addKey(
  store: Store,
  team: TeamId,
  record: CredentialRecord,
  secret: string,
): Promise<void> {
  const { checks, sets } = insertion(team, { record, secret });
  const at = record.createdAt;
  const entry = credentialEntry("credential.created", team, record, SETTINGS_ACTOR, at);
  const write = { team, checks, sets: [...sets, ...auditRows(entry)] };
  const committed = await store.writer.commit(write);
  if (committed === null) throw new StorageUnavailable("Cannot store a key that already exists");
}

export async function insertTeam(store: Store, tier: Tier, name = "team"): Promise<Team> {
  const team: Team = { id: newTeamId(), name, tier };
  await store.writer.commit({ team: team.id, sets: [{ key: keys.team(team.id), value: team }] });
  return team;
}

/** Sets a team's own request rate; `null` restores the rate of its plan (decision 36). */
export async function setTeamRate(store: Store, id: TeamId, rate: Rate | null): Promise<Team> {
  const { rate: _, ...rest } = await readTeam(store, id);
  const team: Team = rate === null ? rest : { ...rest, rate };
  await store.writer.commit({ team: id, sets: [{ key: keys.team(id), value: team }] });
  return team;
}

/** Applies the plan and the owner's address, if given. */
async function withOptions(
  store: Store,
  id: TeamId,
  environment: Environment,
  { tier, ownerEmail }: FirstTeamOptions,
): Promise<Team> {
  const change: TeamChange = {
    name: undefined,
    tier: tier ?? undefined,
    owner_email: ownerEmail ?? undefined,
    suspended: undefined,
  };
  const changed = await changeTeam(store, id, change, SETTINGS_ACTOR, environment.now());
  return changed?.ok === true ? changed.value : await readTeam(store, id);
}

/** Creates the team `default`, unless another process has created it first. */
async function createDefaultTeam(
  store: Store,
  environment: Environment,
  options: FirstTeamOptions,
): Promise<Team> {
  const { tier, ownerEmail } = options;
  const spec = { name: "default", tier: tier ?? FIRST_TIER, owner_email: ownerEmail ?? undefined };
  const { team, sets } = newTeam(spec, SETTINGS_ACTOR, environment.now());
  const key = keys.firstTeam();
  const committed = await store.writer.commit({
    team: team.id,
    checks: [{ key, versionstamp: null }],
    sets: [{ key, value: team.id }, { key: keys.format(), value: LEDGER_FORMAT }, ...sets],
  });
  if (committed !== null) return team;
  const { value } = await getEntry(store, key);
  return await withOptions(store, value as TeamId, environment, options);
}
