/**
 * Lists of a team's credentials.
 *
 * @module
 */
import type { CredentialRecord, CredentialSpec, Principal } from "./credentials.ts";
import type { Parsed } from "../core/errors.ts";
import { isName } from "../core/rules.ts";
import { AGENT_CHARS_MAX } from "../core/limits.ts";
import { type PageBounds, readQuery, refuseParameter } from "../core/query.ts";
import type { Team } from "./team.ts";
import type { RotateOutcome } from "./rotation.ts";

/** Query for a page of credentials; the cursor is the last id of the previous page. */
export interface KeysQuery extends PageBounds<string> {
  /** Agent whose ping tokens to list; null for all credentials. */
  readonly agent: string | null;
}

/** Credential in a list. */
export interface ListedCredential extends CredentialRecord {
  /** Time of the last known use, unix milliseconds; null if none is known. */
  readonly lastUsedAt: number | null;
}

/** Page of credentials, oldest first. */
export interface KeyPage {
  /** Credentials of the page; may be fewer than the limit because others were filtered out. */
  readonly records: readonly ListedCredential[];
  /** Id of the last credential checked; null at the end. */
  readonly next: string | null;
}

/** Parses the query of `GET /v1/keys`. */
export function parseKeysQuery(
  text: string,
  placeOf: (cursor: string) => string | null,
): Parsed<KeysQuery> {
  return readQuery(text, (query) => {
    const page = query.page(placeOf);
    const agent = query.text("agent") ?? null;
    if (agent === null || isName(agent, AGENT_CHARS_MAX)) return { ...page, agent };
    return refuseParameter("agent", '"agent" must be an agent slug');
  });
}

/** Store of all teams' credentials. */
export interface CredentialStore {
  /**
   * Returns the principal of a secret; null if it is unknown or revoked.
   *
   * @param from names the client's network; lookups in the store are queued fairly by it
   */
  find(secret: string, from?: () => string): Principal | null | Promise<Principal | null>;
  /**
   * Creates a credential. The secret is returned here and stored nowhere.
   *
   * @param by identifier of the calling credential, for the audit log
   */
  create(
    team: Pick<Team, "id">,
    spec: CredentialSpec,
    by: string,
  ): Promise<{ readonly record: CredentialRecord; readonly secret: string }>;
  /** Reads a credential; null if the team has none with this id. */
  read(team: Team, id: string): Promise<ListedCredential | null>;
  /** Lists a page of the team's credentials, oldest first. */
  list(team: Team, query: KeysQuery): Promise<KeyPage>;
  /** Revokes a credential; null if the team has none with this id. Idempotent. */
  revoke(team: Team, id: string, by: string): Promise<CredentialRecord | null>;
  /**
   * Replaces a credential by a new one; null if the team has none with this id.
   *
   * @param overlapMs milliseconds for which the old secret remains valid
   */
  rotate(team: Team, id: string, overlapMs: number, by: string): Promise<RotateOutcome>;
  /** Clears cached credentials and teams after one of them changed. */
  forget(): void;
  /** Stores the last use of credentials where an update is due; with `all`, of every credential. */
  writeUses(all?: boolean): Promise<void>;
}
