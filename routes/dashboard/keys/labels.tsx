/** Labels for credentials: grant, state, last use, actions. */
import { type CredentialRecord, isLive } from "../../../domain/teams/credentials.ts";
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import { agentPath } from "../layout/paths.ts";
import { Ago } from "../components/elements.tsx";
import { type KeyConfirmation, keyPath } from "./paths.ts";

/** Scopes of a key with their descriptions. */
export const SCOPE_LABELS = {
  ingest: "send runs, events and heartbeats",
  read: "read runs, agents and spend, and sign in here",
  admin: "manage keys, prices, agents and deletions",
} as const;

/** Names the kind of a credential. */
export function kindLabel({ grant }: CredentialRecord): string {
  return grant.kind === "api_key" ? "API key" : "Ping token";
}

/** Shows what a credential allows. */
export function KeyGrant({ of: { grant } }: { readonly of: CredentialRecord }) {
  if (grant.kind === "api_key") return <span>API key: {grant.scopes.join(", ")}</span>;
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
  if (revokedAt === null && endsAt === undefined) return <span class="state works">✓ works</span>;
  const [name, text] = revokedAt !== null
    ? ["ended", "✕ revoked "]
    : isLive(of, now)
    ? ["ending", "◷ works, expires "]
    : ["ended", "✕ expired "];
  return (
    <span class={`state ${name}`}>
      {text}
      <Ago at={revokedAt ?? endsAt ?? now} now={now} />
      {replacedBy === undefined ? null : (
        <>
          , <a href={keyPath(replacedBy)}>its replacement</a>
        </>
      )}
    </span>
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
      {of.replacedBy === undefined ? <KeyAction of={of} does="rotate" /> : null}
      <KeyAction of={of} does="revoke" />
    </span>
  );
}

interface KeyActionProps {
  readonly of: CredentialRecord;
  readonly does: KeyConfirmation;
}

function KeyAction({ of, does }: KeyActionProps) {
  const verb = does === "rotate" ? "Rotate" : "Revoke";
  return <a href={keyPath(of.id, does)} aria-label={`${verb} ${of.name}`}>{verb}</a>;
}
