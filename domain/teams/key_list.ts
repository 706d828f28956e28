/**
 * Lists of a team's credentials.
 *
 * @module
 */
import type { CredentialRecord } from "./credentials.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { isName } from "../core/rules.ts";
import { AGENT_CHARS_MAX } from "../core/limits.ts";
import { type PageQuery, parsePage } from "../core/page.ts";

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
