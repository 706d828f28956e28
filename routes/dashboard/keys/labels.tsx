/** Shows credentials: their table, grant, state, last use and actions; and actors by name. */
import { type CredentialRecord, isLive, OPERATOR } from "../../../domain/teams/credentials.ts";
import { SERVICE_ACTOR, SETTINGS_ACTOR } from "../../../domain/teams/audit_log.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import type { Reader } from "../layout/page.tsx";
import { agentPath, keyPath } from "../layout/paths.ts";
import { Ago, At, Sign } from "../components/elements.tsx";
import { CheckBoxes } from "../components/form_fields.tsx";
import { type Column, column, nameColumn } from "../components/table.tsx";

/** Scopes of a key: a word for lists, and a description. */
export const SCOPE_LABELS = {
  ingest: ["sends runs", "send runs, events and heartbeats"],
  read: ["reads", "read runs, agents and spend, and sign in here"],
  admin: ["manages", "manage keys, prices, agents and deletions"],
} as const;

/** Builds the checkboxes for the scopes of a key. */
export function scopeBoxes(chosen: readonly string[], problem: Problem | null) {
  const options = Object.entries(SCOPE_LABELS).map(([scope, [, text]]) =>
    [
      scope,
      <>
        <b>{scope}</b> – {text}
      </>,
    ] as const
  );
  return <CheckBoxes name="scopes" label="What it may do" {...{ options, chosen, problem }} />;
}

/** Names the kind of a credential. */
export function kindLabel({ grant }: CredentialRecord): string {
  return grant.kind === "api_key" ? "API key" : "Ping token";
}

/** Shows what a credential allows. */
export function keyGrant({ grant }: CredentialRecord) {
  return grant.kind === "api_key"
    ? `API key: ${grant.scopes.map((scope) => SCOPE_LABELS[scope][0]).join(", ")}`
    : (
      <span>
        Ping token of <a href={agentPath(grant.agent)}>{grant.agent}</a>
      </span>
    );
}

/** Shows the state of a credential, the time of that state, and the replacement. */
export function keyState(of: CredentialRecord, nowMs: number) {
  const changedAt = of.revokedAt ?? of.endsAt;
  if (changedAt === undefined) return <Sign icon="ok">works</Sign>;
  const [icon, name] = isLive(of, nowMs)
    ? ["late", "works, expires"] as const
    : ["off", of.revokedAt === null ? "expired" : "revoked"] as const;
  return (
    <Sign icon={icon}>
      {name} <Ago at={changedAt} />
      {of.replacedBy !== undefined && [", ", <a href={keyPath(of.replacedBy)}>its replacement</a>]}
    </Sign>
  );
}

/** Shows the last recorded use of a credential. */
export function lastUse({ lastUsedAt }: ListedCredential) {
  return lastUsedAt === null ? <span class="soft">never</span> : <Ago at={lastUsedAt} />;
}

/** Links to the forms that rotate and revoke a live credential. */
export function keyActions(of: CredentialRecord, nowMs: number) {
  const link = (action: "rotate" | "revoke", verb: string) => (
    <a href={keyPath(of.id, action)} aria-label={`${verb} ${of.name}`}>{verb}</a>
  );
  return isLive(of, nowMs) && (
    <span class="actions">
      {of.replacedBy === undefined && link("rotate", "Rotate")}
      {link("revoke", "Revoke")}
    </span>
  );
}

/** Builds the columns of an agent's credentials, or of all keys: they have the grant too. */
export function keyColumns(
  nowMs: number,
  ownCredentialId: string | null = null,
): Column<ListedCredential>[] {
  return [
    nameColumn("Name", ({ id, name }) => [
      <a class="row" href={keyPath(id)}>{name}</a>,
      id === ownCredentialId && <small class="tag">you are signed in with it</small>,
    ]),
    ...ownCredentialId === null ? [] : [{ head: "Allows", class: "whole", cell: keyGrant }],
    { head: "State", cell: (of) => keyState(of, nowMs) },
    column("Last used", { before: "used" }, (of) => [
      lastUse(of),
      <small class="under">
        created <At at={of.createdAt} />
      </small>,
    ]),
    { head: <span class="sr">Action</span>, cell: (of) => keyActions(of, nowMs) },
  ];
}

/** Credential names by id. */
export type ActorNames = Awaited<ReturnType<typeof actorNames>>;

/** Reads the names of actors; an id that is not a key of the team has none. */
export async function actorNames({ deps: { credentials }, team }: Reader, ids: readonly string[]) {
  const records = await Promise.all([...new Set(ids)].map((id) => credentials.read(team, id)));
  return new Map(records.flatMap((record) => record === null ? [] : [[record.id, record.name]]));
}

/** Names of actors that are no keys. */
export const ACTORS: ReadonlyMap<string, string> = new Map([
  [OPERATOR.credentialId, "the operator"],
  [SETTINGS_ACTOR, "the startup settings"],
  [SERVICE_ACTOR, "Runledger"],
]);

/** Shows an actor, with a link to the key. */
export function Actor({ id, name }: { readonly id: string; readonly name: string | null }) {
  const known = ACTORS.get(id);
  return known === undefined ? <a href={keyPath(id)} title={id}>{name ?? id}</a> : <>{known}</>;
}
