/** Shows credentials: their table, grant, state, last use and actions; and actors by name. */
import { type CredentialRecord, isLive, OPERATOR } from "../../../domain/teams/credentials.ts";
import { SERVICE_ACTOR, SETTINGS_ACTOR } from "../../../domain/teams/audit_log.ts";
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { agentPath } from "../layout/paths.ts";
import { State } from "../components/elements.tsx";
import { Ago, At } from "../components/time.tsx";
import { type Column, Table } from "../components/table.tsx";
import { type KeyConfirmation, keyPath } from "./paths.ts";

/** Scopes of a key with their descriptions. */
export const SCOPE_LABELS = {
  ingest: "send runs, events and heartbeats",
  read: "read runs, agents and spend, and sign in here",
  admin: "manage keys, prices, agents and deletions",
} as const;

/** What a key of each scope does, in a list. */
const SCOPE_VERBS = { ingest: "sends runs", read: "reads", admin: "manages" } as const;

/** Names the kind of a credential. */
export function kindLabel({ grant }: CredentialRecord): string {
  return grant.kind === "api_key" ? "API key" : "Ping token";
}

/** Shows what a credential allows. */
export function KeyGrant({ of: { grant } }: { readonly of: CredentialRecord }) {
  if (grant.kind === "api_key") {
    return (
      <span title={grant.scopes.join(", ")}>
        API key: {grant.scopes.map((scope) => SCOPE_VERBS[scope]).join(", ")}
      </span>
    );
  }
  return (
    <span>
      Ping token of <a href={agentPath(grant.agent)}>{grant.agent}</a>
    </span>
  );
}

interface KeyProps {
  readonly of: CredentialRecord;
  readonly now: number;
}

/** Shows the state of a credential, the time of that state, and the replacement. */
export function KeyState({ of, now }: KeyProps) {
  const { revokedAt, endsAt, replacedBy } = of;
  if (revokedAt === null && endsAt === undefined) return <State icon="ok" name="works" />;
  const [icon, name] = revokedAt !== null
    ? ["off", "revoked"] as const
    : isLive(of, now)
    ? ["late", "works, expires"] as const
    : ["off", "expired"] as const;
  return (
    <State icon={icon} name={name}>
      <Ago at={revokedAt ?? endsAt ?? now} now={now} />
      {replacedBy === undefined ? null : (
        <>
          , <a href={keyPath(replacedBy)}>its replacement</a>
        </>
      )}
    </State>
  );
}

/** Shows the last recorded use of a credential. */
export function LastUse({ of: { lastUsedAt }, now }: KeyProps & { readonly of: ListedCredential }) {
  return lastUsedAt === null ? <span class="soft">never</span> : <Ago at={lastUsedAt} now={now} />;
}

/** Links to the forms that rotate and revoke a live credential. */
export function KeyActions({ of, now }: KeyProps) {
  if (!isLive(of, now)) return null;
  return (
    <span class="actions">
      {of.replacedBy === undefined && <KeyAction of={of} does="rotate" />}
      <KeyAction of={of} does="revoke" />
    </span>
  );
}

function KeyAction(
  { of, does }: { readonly of: CredentialRecord; readonly does: KeyConfirmation },
) {
  const verb = does === "rotate" ? "Rotate" : "Revoke";
  return <a href={keyPath(of.id, does)} aria-label={`${verb} ${of.name}`}>{verb}</a>;
}

interface KeyTableProps {
  readonly label: string;
  readonly records: readonly ListedCredential[];
  readonly now: number;
  /** Id of the session's own credential, to list all keys with their grants. */
  readonly mine?: string;
}

export function KeyTable({ label, records, now, mine }: KeyTableProps) {
  const columns: readonly Column<ListedCredential>[] = [
    {
      head: "Name",
      isName: true,
      cell: ({ id, name }) => [
        <a class="row" href={keyPath(id)}>{name}</a>,
        id === mine ? <small class="tag">you are signed in with it</small> : null,
      ],
    },
    ...(mine === undefined ? [] : [GRANT]),
    { head: "State", cell: (of) => <KeyState of={of} now={now} /> },
    {
      head: "Last used",
      before: "used",
      cell: (of) => (
        <>
          <LastUse of={of} now={now} />
          <small class="under">
            created <At at={of.createdAt} />
          </small>
        </>
      ),
    },
    { head: <span class="sr">Action</span>, cell: (of) => <KeyActions of={of} now={now} /> },
  ];
  const caption = mine === undefined ? null : <caption>Oldest first.</caption>;
  return <Table class="fold" rows={records} {...{ label, caption, columns }} />;
}

const GRANT: Column<ListedCredential> = {
  head: "Allows",
  class: "whole",
  cell: (of) => <KeyGrant of={of} />,
};

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
  if (id === SERVICE_ACTOR) return <>Runledger</>;
  return <a href={keyPath(id)} title={id}>{name ?? id}</a>;
}
