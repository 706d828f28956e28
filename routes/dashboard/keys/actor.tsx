/** An actor: a key by its name, the operator, or the startup settings. */
import { OPERATOR } from "../../../domain/teams/credentials.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { SETTINGS_ACTOR } from "../../../domain/teams/audit_log.ts";
import type { AppDeps } from "../../http/context.ts";
import { keyPath } from "./paths.ts";

/** Credential names by id. */
export type ActorNames = ReadonlyMap<string, string>;

/** Reads the names of actors; an id that is not a key of the team has none. */
export async function actorNames(
  { credentials }: Pick<AppDeps, "credentials">,
  team: Team,
  ids: readonly string[],
): Promise<ActorNames> {
  const records = await Promise.all([...new Set(ids)].map((id) => credentials.read(team, id)));
  return new Map(records.flatMap((record) => record === null ? [] : [[record.id, record.name]]));
}

/** Shows an actor, with a link to the key. */
export function Actor({ id, name }: { readonly id: string; readonly name: string | null }) {
  if (id === OPERATOR.credentialId) return <>the operator</>;
  if (id === SETTINGS_ACTOR) return <>the startup settings</>;
  return <a href={keyPath(id)} title={id}>{name ?? id}</a>;
}
