/**
 * Lists of a team's credentials.
 *
 * @module
 */
import type { CredentialRecord, CredentialSpec, Principal } from "./credentials.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { isName } from "../core/rules.ts";
import { AGENT_CHARS_MAX } from "../core/limits.ts";
import { type PageQuery, parsePage } from "../core/page.ts";
import type { Team } from "./team.ts";
import type { RotateOutcome } from "./rotation.ts";

/** Which credentials are asked for; the place is the id of the last of the page before. */
export interface KeysQuery extends PageQuery<string> {
  /** Agent whose ping tokens are listed; null for all credentials. */
  readonly agent: string | null;
}

/** A credential in a list. */
export interface ListedCredential extends CredentialRecord {
  /** When it was last used, unix milliseconds; null when no use is known. */
  readonly lastUsedAt: number | null;
}

/** A page of credentials, oldest first. */
export interface KeyPage {
  /** The credentials; fewer than asked for where others had to be passed over. */
  readonly records: readonly ListedCredential[];
  /** Id of the last that was looked at; null at the end. */
  readonly next: string | null;
}

/** Reads the query of `GET /v1/keys`. */
export function parseKeysQuery(
  query: string,
  placeOf: (cursor: string) => string | null,
): Parsed<KeysQuery> {
  const page = parsePage(query, placeOf);
  if (!page.ok) return page;
  const agent = page.value.sent.get("agent") ?? null;
  if (agent !== null && !isName(agent, AGENT_CHARS_MAX)) {
    return refuse("invalid_field", '"agent" must be an agent slug', "agent");
  }
  return { ok: true, value: { ...page.value, agent } };
}

/** The credentials of all teams. */
export interface CredentialStore {
  /**
   * Whose secret this is; null when unknown or revoked.
   *
   * @param from names where it comes from: what has to be looked up takes turns by it
   */
  find(secret: string, from?: () => string): Principal | null | Promise<Principal | null>;
  /**
   * Creates a credential. The secret is in this answer and nowhere else.
   *
   * @param by who does it, for the audit log: the identifier of a credential
   */
  create(
    team: Pick<Team, "id">,
    spec: CredentialSpec,
    by: string,
  ): Promise<{ readonly record: CredentialRecord; readonly secret: string }>;
  /** Reads one; null when the team has none of that id. */
  read(team: Team, id: string): Promise<ListedCredential | null>;
  /** A page of the team's credentials, oldest first. */
  list(team: Team, query: KeysQuery): Promise<KeyPage>;
  /** Revokes one; null when the team has none of that id. Repeating changes nothing. */
  revoke(team: Team, id: string, by: string): Promise<CredentialRecord | null>;
  /**
   * Replaces one by a new one; null when the team has none of that id.
   *
   * @param overlapMs milliseconds for which the old secret goes on working
   */
  rotate(team: Team, id: string, overlapMs: number, by: string): Promise<RotateOutcome>;
  /** Looks at every credential and team again before it is let in: something of them changed. */
  forget(): void;
  /** Writes down when credentials were last used, where that is due; with `all` in any case. */
  writeUses(all?: boolean): Promise<void>;
}
