/**
 * Stores teams: the first one, which a start finds or creates, and those of the operator.
 *
 * @module
 */
import { type CredentialSpec, OPERATOR, SCOPES } from "../../domain/teams/credentials.ts";
import type { Team } from "../../domain/teams/team.ts";
import { nullIfRefused } from "../../domain/core/errors.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Region, TeamId } from "../../domain/core/ids.ts";
import type { Tier } from "../../domain/teams/plans.ts";
import { type AuditEntry, differenceOf, SETTINGS_ACTOR } from "../../domain/teams/audit_log.ts";
import type { PageBounds } from "../../domain/core/query.ts";
import {
  changedTeam,
  isTeamId,
  type TeamChange,
  teamFields,
  type TeamPage,
  type TeamSpec,
} from "../../domain/teams/team_change.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { inTime, LOST, untilCommitted, untilCommittedInTime } from "../base/retry.ts";
import { keys, newTeamId, OWN_FORMAT } from "../base/keys.ts";
import { findEntry, getEntry, getValue, listRows, type Store } from "../store.ts";
import type { KvSet } from "../writer/group.ts";
import { auditRows } from "./audit_log.ts";
import {
  credentialWrite,
  hashOf,
  insertCredential,
  newCredential,
  readTeam,
  type StoredCredential,
} from "./credential_rows.ts";

/** The key that a team is created with. */
const FIRST_KEY: CredentialSpec = { name: "first key", grant: { kind: "api_key", scopes: SCOPES } };

/** Store of teams, for the operator. */
export type TeamStore = ReturnType<typeof createTeamStore>;

/**
 * Creates the store.
 *
 * @param changed called after each change of a team, to clear caches
 */
export function createTeamStore(
  store: Store,
  environment: Environment,
  region: Region,
  changed: () => void,
) {
  const by = OPERATOR.credentialId;

  async function create(spec: TeamSpec) {
    const credential = newCredential(FIRST_KEY, region, environment);
    const { team, sets } = newTeam(spec, by, credential.record.createdAt);
    await insertCredential(store, team.id, credential, by, sets);
    return { team, ...credential };
  }

  async function change(id: string, patch: TeamChange): Promise<Team | null> {
    const outcome = await changeTeam(store, id, patch, by, environment.now());
    if (outcome !== null) changed();
    return outcome;
  }

  return {
    /** Creates a team and its first key. The secret is returned here and stored nowhere. */
    create: (spec: TeamSpec) => inTime(create(spec), store.deadlines),
    get: async (id: string) =>
      (await inTime(readTeamEntry(store, id), store.deadlines))?.value ?? null,
    page: (query: PageBounds<string>) => inTime(readPage(store, query), store.deadlines),
    /** Changes a team, or refuses the change; null if there is no such team. */
    change: (id: string, patch: TeamChange) => inTime(change(id, patch), store.deadlines),
  };
}

/** Returns a new team and its rows. */
function newTeam(
  { name, tier, owner_email: email }: TeamSpec,
  by: string,
  nowMs: number,
): { readonly team: Team; readonly sets: readonly KvSet[] } {
  const id = newTeamId();
  const owner = email === undefined ? {} : { ownerEmail: email };
  const team: Team = { id, name, tier, ...owner, createdAt: nowMs };
  const { id: _, ...details } = teamFields(team);
  const entry = { at: nowMs, team: id, actor: by, action: "team.created", target: id } as const;
  const rows = auditRows({ ...entry, details });
  return { team, sets: [{ key: keys.team(id), value: team }, ...rows] };
}

/** Changes a team with an audit log entry; null if it does not exist. Writes only a difference. */
function changeTeam(
  store: Store,
  id: string,
  change: TeamChange,
  by: string,
  nowMs: number,
): Promise<Team | null> {
  return untilCommittedInTime("change a team", store.deadlines, async () => {
    const entry = await readTeamEntry(store, id);
    if (entry === null) return null;
    const team = entry.value;
    const changed = changedTeam(team, change, nowMs);
    const details = differenceOf(teamFields(team), teamFields(changed));
    if (details === null) return changed;
    const action = actionOf(team, changed);
    const logged: AuditEntry = { at: nowMs, team: team.id, actor: by, action, target: id, details };
    const committed = await store.writer.commit({
      team: team.id,
      checks: [entry],
      sets: [{ key: entry.key, value: changed }, ...auditRows(logged)],
    });
    return committed === null ? LOST : changed;
  });
}

/** Returns the audit action; users search for suspending and resuming, so both have their own. */
function actionOf(before: Team, after: Team): AuditEntry["action"] {
  const [was, is] = [before.suspendedAt !== undefined, after.suspendedAt !== undefined];
  return was === is ? "team.changed" : is ? "team.suspended" : "team.resumed";
}

async function readTeamEntry(store: Store, id: string): Promise<Deno.KvEntry<Team> | null> {
  return isTeamId(id) ? await findEntry<Team>(store, keys.team(id)) : null;
}

async function readPage(store: Store, { after, limit }: PageBounds<string>): Promise<TeamPage> {
  const rows = await listRows<Team>(store, keys.teamsAfter(after), { limit: limit + 1 });
  const teams = rows.slice(0, limit).map(({ value }) => value);
  return { teams, next: rows.length > limit ? teams.at(-1)?.id ?? null : null };
}

/** Settings of the first team. */
interface FirstTeamOptions {
  readonly region: Region;
  /** A key that must work for it; null to generate one if it has none. */
  readonly key: string | null;
  /** A refused key that does not count as a key of the team; null or absent for none. */
  readonly refusedKey?: string | null;
  /** Plan; null to leave it unchanged. */
  readonly tier: Tier | null;
  /** Email address for notices; null or absent to leave it unchanged. */
  readonly ownerEmail?: string | null;
  /** True on a shared store: no key is generated there. */
  readonly isShared?: boolean;
}

/** A shared store has no key, and none is given. */
export class KeyRequired extends Error {
  override readonly name = "KeyRequired";
}

/**
 * Ensures that the first team exists and that the given key, if any, works for it.
 *
 * An empty store gets the team `default` with the given plan, and with the given key or a generated
 * one. In an existing store, an unknown key is added to the team, which restores access for an
 * owner who lost every key. A revoked key stays revoked.
 *
 * A generated key is printed, and others may collect what services on a shared store print. So on
 * such a store the key must be given.
 *
 * @returns the team, its key if this start stored it, whether an existing team got it (R30), and when the
 *   given key was revoked
 * @throws {KeyRequired} when the team of a shared store has no key; nothing is stored
 */
export async function ensureFirstTeam(
  store: Store,
  environment: Environment,
  options: FirstTeamOptions,
) {
  const { key, isShared } = options;
  // Reads both at once, because a round trip to a shared store may take long.
  const [id, stored] = await Promise.all([
    getValue<TeamId>(store, keys.firstTeam()),
    key === null ? null : storedKey(store, key),
  ]);
  if (isShared && key === null) {
    if (id === null || !await hasKey(store, id, options)) throw new KeyRequired();
  }
  const team = id !== null
    ? await withOptions(store, id, environment, options)
    : await createDefaultTeam(store, environment, options);
  const revokedAt = stored?.revokedAt ?? null;
  const unchanged = { team, createdKey: null, isAdded: false, revokedAt };
  if (stored !== null) return unchanged;
  const isAdded = id !== null && key !== null;
  const today = formatInstant(environment.now()).slice(0, 10);
  const spec = isAdded ? { ...FIRST_KEY, name: `RUNLEDGER_KEY of ${today}` } : FIRST_KEY;
  // Instances that start together on one store may all add the key: only one commit succeeds.
  return await untilCommitted("store the first team's key", async () => {
    if (await hasKey(store, team.id, options)) return unchanged;
    const created = newCredential(spec, options.region, environment, options.key);
    const committed = await store.writer.commit(credentialWrite(team.id, created, SETTINGS_ACTOR));
    return committed === null ? LOST : { ...unchanged, createdKey: created.secret, isAdded };
  });
}

/** Returns whether the given key is stored or, if none is given, whether the team has a key. */
async function hasKey(
  store: Store,
  team: TeamId,
  { key, refusedKey }: FirstTeamOptions,
): Promise<boolean> {
  if (key !== null) return await storedKey(store, key) !== null;
  const refused = refusedKey ? hashOf(refusedKey).toHex() : null;
  const range = keys.teamCredentialsAfter(team, null);
  const hashes = await listRows<Uint8Array>(store, range, { limit: 2 });
  return hashes.some(({ value }) => value.toHex() !== refused);
}

function storedKey(store: Store, key: string): Promise<StoredCredential | null> {
  return getValue<StoredCredential>(store, keys.credential(hashOf(key)));
}

/** Default plan of a first team. */
const FIRST_TIER: Tier = "business";

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
  const changed = await changeTeam(store, id, change, SETTINGS_ACTOR, environment.now())
    .catch(nullIfRefused);
  return changed ?? await readTeam(store, id);
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
    sets: [{ key, value: team.id }, { key: keys.format(), value: OWN_FORMAT }, ...sets],
  });
  if (committed !== null) return team;
  const { value } = await getEntry(store, key);
  return await withOptions(store, value as TeamId, environment, options);
}
