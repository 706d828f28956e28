/**
 * Stores teams, as the operator creates and changes them.
 *
 * @module
 */
import { type CredentialSpec, OPERATOR, SCOPES } from "../../domain/teams/credentials.ts";
import type { Team } from "../../domain/teams/team.ts";
import { type Parsed, StorageUnavailable } from "../../domain/core/errors.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Region } from "../../domain/core/ids.ts";
import { type AuditEntry, differenceOf } from "../../domain/teams/audit_log.ts";
import type { PageBounds } from "../../domain/core/query.ts";
import {
  changedTeam,
  isTeamId,
  type TeamChange,
  teamFields,
  type TeamPage,
  type TeamSpec,
  type TeamStore,
} from "../../domain/teams/team_change.ts";
import { inTime } from "../base/deadline.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { newTeamId } from "../base/names.ts";
import { getEntry, listRows, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";
import { auditRows } from "./audit_log.ts";
import { credentialEntry, insertion, newCredential } from "./credential_rows.ts";

/** The key that a team is created with. */
export const FIRST_KEY: CredentialSpec = {
  name: "first key",
  grant: { kind: "api_key", scopes: SCOPES },
};

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
): TeamStore {
  const by = OPERATOR.credentialId;

  async function create(spec: TeamSpec): ReturnType<TeamStore["create"]> {
    const credential = newCredential(FIRST_KEY, region, environment);
    const at = credential.record.createdAt;
    const { team, sets } = newTeam(spec, by, at);
    const inserted = insertion(team.id, credential);
    const entry = credentialEntry("credential.created", team.id, credential.record, by, at);
    const committed = await store.writer.commit({
      team: team.id,
      checks: inserted.checks,
      sets: [...sets, ...inserted.sets, ...auditRows(entry)],
    });
    if (committed === null) throw new StorageUnavailable("Cannot store a key that already exists");
    return { team, ...credential };
  }

  async function change(id: string, patch: TeamChange): Promise<Parsed<Team> | null> {
    const outcome = await changeTeam(store, id, patch, by, environment.now());
    if (outcome?.ok === true) changed();
    return outcome;
  }

  return {
    create: (spec) => inTime(create(spec), store.deadlines),
    get: async (id) => (await inTime(readTeamEntry(store, id), store.deadlines))?.value ?? null,
    page: (query) => inTime(readPage(store, query), store.deadlines),
    change: (id, patch) => inTime(change(id, patch), store.deadlines),
  };
}

/** Returns a new team and its rows. */
export function newTeam(
  { name, tier, owner_email: email }: TeamSpec,
  by: string,
  nowMs: number,
): { readonly team: Team; readonly sets: NonNullable<Write["sets"]> } {
  const id = newTeamId();
  const owner = email === undefined ? {} : { ownerEmail: email };
  const team: Team = { id, name, tier, ...owner, createdAt: nowMs };
  const { id: _, ...details } = teamFields(team);
  const entry = { at: nowMs, team: id, actor: by, action: "team.created", target: id } as const;
  const rows = auditRows({ ...entry, details });
  return { team, sets: [{ key: keys.team(id), value: team }, ...rows] };
}

/** Changes a team with an audit log entry; null if it does not exist. Writes only a difference. */
export function changeTeam(
  store: Store,
  id: string,
  change: TeamChange,
  by: string,
  nowMs: number,
): Promise<Parsed<Team> | null> {
  return untilCommitted("change a team", async () => {
    const entry = await readTeamEntry(store, id);
    if (entry === null) return null;
    const team = entry.value;
    const changed = changedTeam(team, change, nowMs);
    if (!changed.ok) return changed;
    const details = differenceOf(teamFields(team), teamFields(changed.value));
    if (details === null) return changed;
    const action = actionOf(team, changed.value);
    const logged: AuditEntry = { at: nowMs, team: team.id, actor: by, action, target: id, details };
    const committed = await store.writer.commit({
      team: team.id,
      checks: [entry],
      sets: [{ key: entry.key, value: changed.value }, ...auditRows(logged)],
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
  if (!isTeamId(id)) return null;
  const entry = await getEntry(store, keys.team(id));
  return entry.versionstamp === null ? null : entry as Deno.KvEntry<Team>;
}

async function readPage(store: Store, { after, limit }: PageBounds<string>): Promise<TeamPage> {
  const rows = await listRows<Team>(store, keys.teamsAfter(after), { limit: limit + 1 });
  const teams = rows.slice(0, limit).map(({ value }) => value);
  return { teams, next: rows.length > limit ? teams.at(-1)?.id ?? null : null };
}
