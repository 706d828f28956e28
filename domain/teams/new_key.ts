/**
 * Creating a credential: the body of `POST /v1/keys`.
 *
 * @module
 */
import { type CredentialSpec, type Scope, SCOPES } from "./credentials.ts";
import { check, type Schema } from "../core/validate.ts";
import { z } from "zod";
import { agentSlug, name, oneOf, oneOfText, optional } from "../core/fields.ts";
import { KEY_NAME_CHARS_MAX } from "../core/limits.ts";
import type { Body } from "../core/body.ts";
import type { Parsed } from "../core/errors.ts";

/** `POST /v1/keys`. */
export type KeyBody =
  | {
    readonly kind: "api_key";
    readonly name: string;
    /** `ingest` when absent. */
    readonly scopes: readonly Scope[] | undefined;
  }
  | { readonly kind: "ping_token"; readonly name: string; readonly agent: string };

/** Body of `POST /v1/keys`: `scopes` is for a key, `agent` for a ping token. */
export const keyBody: Schema<KeyBody> = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("api_key"),
    name: name(KEY_NAME_CHARS_MAX, "a name"),
    scopes: optional(z.array(oneOf(SCOPES), "a list of scopes").min(1, "a list of scopes")),
  }),
  z.object({
    kind: z.literal("ping_token"),
    name: name(KEY_NAME_CHARS_MAX, "a name"),
    agent: agentSlug(),
  }),
], { error: oneOfText(["api_key", "ping_token"]) });

/** Checks a `POST /v1/keys`. */
export function parseKey(body: Body): Parsed<CredentialSpec> {
  const parsed = check(null, keyBody, body.value);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const grant = sent.kind === "api_key"
    ? { kind: sent.kind, scopes: [...new Set(sent.scopes ?? ["ingest" as const])] }
    : { kind: sent.kind, agent: sent.agent };
  return { ok: true, value: { name: sent.name, grant } };
}
