/**
 * The team that a start finds or creates, and what a start says of it.
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
import { getMany, listRows, type Store } from "../store.ts";
import { auditRows } from "./audit_log.ts";
import { credentialEntry, hashOf, insertion, newRecord, readTeam } from "./credential_rows.ts";
import { changeTeam, FIRST_KEY, newTeam } from "./teams.ts";

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
  /** A key that does not count as one, because it is refused; null or absent for none. */
  readonly refusedKey?: string | null;
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
    ? await withOptions(store, pointer.value as TeamId, environment, options)
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
  const [known] = await getMany(store, [keys.credential(hashOf(key))]);
  if (known?.versionstamp) return { team, createdKey: null };
  await addKey(store, team.id, newRecord(FIRST_KEY, region, environment), key);
  return { team, createdKey: key };
}

/** Plan of a first team that nobody chose one for. */
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
  if (committed === null) throw new StorageUnavailable("Cannot store a key that exists already");
}

/** Creates a team. */
export async function insertTeam(store: Store, tier: Tier, name = "team"): Promise<Team> {
  const team: Team = { id: newTeamId(), name, tier };
  await store.writer.commit({ team: team.id, sets: [{ key: keys.team(team.id), value: team }] });
  return team;
}

/** Gives a team a request rate of its own, or with `null` its plan's again (decision 36). */
export async function setTeamRate(store: Store, id: TeamId, rate: Rate | null): Promise<Team> {
  const { rate: _, ...rest } = await readTeam(store, id);
  const team: Team = rate === null ? rest : { ...rest, rate };
  await store.writer.commit({ team: id, sets: [{ key: keys.team(id), value: team }] });
  return team;
}

/** Moves a team to a plan and gives it an owner's address, where they are given. */
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

/** Creates the team `default` and remembers it, unless another process was faster. */
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
  const [pointer] = await getMany(store, [key]);
  return await withOptions(store, pointer?.value as TeamId, environment, options);
}
