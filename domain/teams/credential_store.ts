/**
 * The contract of the store of credentials.
 *
 * @module
 */
import type { CredentialRecord, CredentialSpec, Principal } from "./credentials.ts";
import type { Team } from "./team.ts";
import type { KeyPage, KeysQuery, ListedCredential } from "./key_list.ts";
import type { RotateOutcome } from "./rotation.ts";

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
