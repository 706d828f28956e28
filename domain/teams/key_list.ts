/**
 * Calls on a team's credentials: create, list and rotate.
 *
 * @module
 */
import { type CredentialRecord, type CredentialSpec, isLive, SCOPES } from "./credentials.ts";
import { isName } from "../core/rules.ts";
import { AGENT_CHARS_MAX, KEY_NAME_CHARS_MAX, OVERLAP_HOURS } from "../core/limits.ts";
import { type PageBounds, Query } from "../core/query.ts";
import { z } from "zod";
import { agentSlug, name, oneOf, optional } from "../core/fields.ts";
import { oneOfText } from "../core/text.ts";
import { type Problem, refuse, Refused } from "../core/errors.ts";
import { check } from "../core/validate.ts";
import type { Body } from "../core/body.ts";
import { HOUR_MS } from "../core/time.ts";

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

/** Parses the query of `GET /v1/keys`. */
export function parseKeysQuery(
  text: string,
  placeOf: (cursor: string) => string | null,
): KeysQuery {
  const query = new Query(text);
  const page = query.page(placeOf);
  const isSlug = (text: string) => isName(text, AGENT_CHARS_MAX);
  return { ...page, agent: query.valid("agent", isSlug, "an agent slug") };
}

/**
 * Body of `POST /v1/keys`: `scopes` is for a key, `agent` for a ping token.
 *
 * @internal
 */
export const keyBody = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("api_key"),
    name: name(KEY_NAME_CHARS_MAX, "a name"),
    scopes: optional(
      z.array(oneOf("Scope", SCOPES), "a list of scopes").min(1, "a list of scopes"),
    ),
  }).meta({ id: "ApiKeyRequest" }),
  z.object({
    kind: z.literal("ping_token"),
    name: name(KEY_NAME_CHARS_MAX, "a name"),
    agent: agentSlug(),
  }).meta({ id: "PingTokenRequest" }),
], { error: oneOfText(["api_key", "ping_token"]) });

/** Validates the body of `POST /v1/keys`. */
export function parseKey(body: Body): CredentialSpec {
  const key = check(keyBody, body.value);
  const grant = key.kind === "api_key"
    ? { kind: key.kind, scopes: [...new Set(key.scopes ?? ["ingest" as const])] }
    : { kind: key.kind, agent: key.agent };
  return { name: key.name, grant };
}

const HOURS = `a whole number of hours from 0 to ${OVERLAP_HOURS.max}`;

/**
 * Body of `POST /v1/keys/{id}/rotate`.
 *
 * @internal
 */
export const rotateBody = z.object({
  overlap_hours: optional(z.int(HOURS).min(0, HOURS).max(OVERLAP_HOURS.max, HOURS)).describe(
    "Hours for which the old secret keeps working; 24 when absent. At least 1 when a " +
      "credential rotates itself.",
  ),
});

/** Validates a rotation and returns the overlap in milliseconds. */
export function parseRotation(body: Body): number {
  return (check(rotateBody, body.value).overlap_hours ?? OVERLAP_HOURS.default) * HOUR_MS;
}

/**
 * Returns the replaced credential, or refuses the rotation.
 *
 * A credential is replaced once, by one other. A retry after a lost response is refused with the id of
 * that other credential, so retries never leave more than two valid secrets.
 *
 * A credential that rotates itself cannot expire immediately: if the response were lost, the caller
 * would have no valid secret to retry with.
 *
 * @param caller identifier of the calling credential
 */
export function rotatedCredentials(
  record: CredentialRecord,
  by: string,
  overlapMs: number,
  nowMs: number,
  caller: string,
): CredentialRecord {
  if (record.replacedBy !== undefined) {
    const message = `This credential was replaced by "${record.replacedBy}": rotate that one, ` +
      "with overlap_hours 0 if its secret never arrived, or revoke it";
    return refuse("credential_ended", message);
  }
  if (!isLive(record, nowMs)) throw new Refused(REVOKED);
  if (overlapMs === 0 && caller === record.id) throw new Refused(SELF_ENDED);
  return { ...record, endsAt: nowMs + overlapMs, replacedBy: by };
}

const SELF_ENDED: Problem = {
  code: "invalid_field",
  field: "overlap_hours",
  message:
    "A key that rotates itself cannot expire immediately, because a lost response would leave " +
    "no valid secret: send 1 hour or more, then revoke this key with the new secret",
};

const REVOKED: Problem = {
  code: "credential_ended",
  message: "This credential was revoked and has no replacement: create a new one",
};
