/** Credentials as people read them: what they may do, and whether they still work. */
import { type CredentialRecord, isLive } from "../../../domain/teams/credentials.ts";
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import { agentPath } from "../layout/paths.ts";
import { Ago } from "../components/elements.tsx";
import { type KeyConfirmation, keyPath } from "./paths.ts";

/** What each scope lets a key do. */
export const SCOPE_LABELS = {
  ingest: "send runs, events and heartbeats",
  read: "read runs, agents and spend, and sign in here",
  admin: "manage keys, prices, agents and deletions",
} as const;

/** What one is called. */
export function kindLabel({ grant }: CredentialRecord): string {
  return grant.kind === "api_key" ? "API key" : "Ping token";
}

/** What one may do. */
export function May({ of: { grant } }: { readonly of: CredentialRecord }) {
  if (grant.kind === "api_key") return <span>API key: {grant.scopes.join(", ")}</span>;
  return (
    <span>
      Ping token of <a href={agentPath(grant.agent)}>{grant.agent}</a>
    </span>
  );
}

interface At {
  readonly of: CredentialRecord;
  readonly now: number;
}

/** Whether one works, since when or until when, and what replaced it. */
export function State({ of, now }: At) {
  const { revokedAt, endsAt, replacedBy } = of;
  const successor = replacedBy === undefined ? null : (
    <>
      , <a href={keyPath(replacedBy)}>its replacement</a>
    </>
  );
  if (revokedAt !== null) {
    return (
      <span class="state ended">
        ✕ revoked <Ago at={revokedAt} now={now} />
        {successor}
      </span>
    );
  }
  if (endsAt === undefined) return <span class="state works">✓ works</span>;
  return isLive(of, now)
    ? (
      <span class="state ending">
        ◷ works, ends <Ago at={endsAt} now={now} />
        {successor}
      </span>
    )
    : (
      <span class="state ended">
        ✕ ended <Ago at={endsAt} now={now} />
        {successor}
      </span>
    );
}

/** When it was last used, as far as that is known. */
export function LastUse({ of: { lastUsedAt }, now }: At & { readonly of: ListedCredential }) {
  return lastUsedAt === null ? <span class="soft">never</span> : <Ago at={lastUsedAt} now={now} />;
}

/** What can be done about one that works. */
export function KeyActions({ of, now }: At) {
  if (!isLive(of, now)) return null;
  return (
    <span class="actions">
      {of.replacedBy === undefined ? <Action of={of} does="rotate" /> : null}
      <Action of={of} does="revoke" />
    </span>
  );
}

function Action({ of, does }: { readonly of: CredentialRecord; readonly does: KeyConfirmation }) {
  const word = does === "rotate" ? "Rotate" : "Revoke";
  return <a href={keyPath(of.id, does)} aria-label={`${word} ${of.name}`}>{word}</a>;
}
