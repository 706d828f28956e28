/**
 * Body of `POST /v1/keys`, which creates a credential.
 *
 * @module
 */
import { type CredentialSpec, SCOPES } from "./credentials.ts";
import { check } from "../core/validate.ts";
import { z } from "zod";
import { agentSlug, name, oneOf, optional } from "../core/fields.ts";
import { oneOfText } from "../core/text.ts";
import { KEY_NAME_CHARS_MAX } from "../core/limits.ts";
import type { Body } from "../core/body.ts";
import type { Parsed } from "../core/errors.ts";

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
export function parseKey(body: Body): Parsed<CredentialSpec> {
  const parsed = check(keyBody, body.value);
  if (!parsed.ok) return parsed;
  const key = parsed.value;
  const grant = key.kind === "api_key"
    ? { kind: key.kind, scopes: [...new Set(key.scopes ?? ["ingest" as const])] }
    : { kind: key.kind, agent: key.agent };
  return { ok: true, value: { name: key.name, grant } };
}
