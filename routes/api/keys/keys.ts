/** `/v1/keys`: create, list, rotate and revoke a team's credentials. */
import type { Handler } from "../../http/admission.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { teamKey } from "../../http/access.ts";
import {
  type CredentialRecord,
  type Principal,
  SCOPES,
} from "../../../domain/teams/credentials.ts";
import { notFound } from "../../../domain/core/errors.ts";
import { judgeId } from "../../../domain/core/ids.ts";
import { type RawJson, rawOf } from "../../../domain/core/raw_json.ts";
import { keyBody, parseKey } from "../../../domain/teams/new_key.ts";
import { parseKeysQuery } from "../../../domain/teams/key_list.ts";
import { parseRotation, rotateBody } from "../../../domain/teams/rotation.ts";
import { formatInstant, formatInstantOrNull } from "../../../domain/core/time.ts";
import { answer, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { z } from "zod";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { bodyDescription, created, endpoints, ok } from "../../openapi/describe.ts";
import { cursorOf, idOf, instantField, limitOf, nextCursor, slug } from "../../openapi/fields.ts";

const createKey: Handler = (c, deps) => answerNewKey(deps, c, c.get("principal").team);

/** Creates a team's credential from the body, and returns its secret, which is shown only once. */
export async function answerNewKey(
  { credentials }: AppDeps,
  c: RequestContext,
  team: Pick<Principal["team"], "id">,
): Promise<Response> {
  const spec = parseKey(c.get("body"));
  if (!spec.ok) return fail(c, spec.problem);
  const { credentialId } = c.get("principal");
  const credential = await credentials.create(team, spec.value, credentialId);
  return answerSecret(c, rawOf(newKeyFields(credential)));
}

/** Answers with a secret, which no proxy may cache. */
export function answerSecret(c: RequestContext, json: RawJson): Response {
  return answer(c, 201, json, { "Cache-Control": "no-store" });
}

const listKeys: Handler = async (c, { credentials }) => {
  const query = parseKeysQuery(queryOf(c), keyIdOf);
  if (!query.ok) return fail(c, query.problem);
  const { records, next } = await credentials.list(c.get("principal").team, query.value);
  const json = rawOf({
    keys: records.map(({ lastUsedAt, ...record }) => ({
      ...keyFields(record),
      last_used_at: formatInstantOrNull(lastUsedAt),
    })),
    cursor: next === null ? null : encodeCursor(next),
  });
  return answer(c, 200, json);
};

const rotateKey: Handler = async (c, { credentials }) => {
  const overlap = parseRotation(c.get("body"));
  if (!overlap.ok) return fail(c, overlap.problem);
  const { team, credentialId } = c.get("principal");
  const id = c.req.param("id") ?? "";
  const rotated = isKeyId(id)
    ? await credentials.rotate(team, id, overlap.value, credentialId)
    : null;
  if (rotated === null) return fail(c, NO_SUCH_KEY);
  if (!rotated.ok) return fail(c, rotated.problem);
  return answerSecret(c, rawOf(newKeyFields(rotated.value)));
};

const revokeKey: Handler = async (c, { credentials }) => {
  const { team, credentialId } = c.get("principal");
  const id = c.req.param("id") ?? "";
  const record = isKeyId(id) ? await credentials.revoke(team, id, credentialId) : null;
  return record === null ? fail(c, NO_SUCH_KEY) : answer(c, 200, rawOf(keyFields(record)));
};

/** Returns whether a text is a key's id. Any other text may exceed the store's key length. */
export function isKeyId(text: string): boolean {
  return judgeId("key", text) === "valid";
}

/** Decodes a cursor of the key list; null when it is invalid. */
export function keyIdOf(cursor: string): string | null {
  const id = decodeCursor(cursor);
  return id !== null && isKeyId(id) ? id : null;
}

/** Identical for an unknown key and another team's. */
export const NO_SUCH_KEY = notFound("No such key: list the keys to see their ids");

/** Wire fields of a new credential, with its secret. */
export function newKeyFields(
  { record, secret }: { readonly record: CredentialRecord; readonly secret: string },
) {
  return { ...keyFields(record), secret };
}

/** Wire fields of a credential, without its secret. */
function keyFields(record: CredentialRecord) {
  const { id, name, grant, createdAt, revokedAt, endsAt, replacedBy, replaces } = record;
  return {
    id,
    kind: grant.kind,
    name,
    ...(grant.kind === "api_key" ? { scopes: grant.scopes } : { agent: grant.agent }),
    created_at: formatInstant(createdAt),
    revoked_at: formatInstantOrNull(revokedAt),
    ends_at: formatInstantOrNull(endsAt),
    replaced_by: replacedBy ?? null,
    replaces: replaces ?? null,
  };
}

const CREDENTIAL_KINDS = ["api_key", "ping_token"] as const;

const BODIES = { api_key: "ApiKeyRequest", ping_token: "PingTokenRequest" } as const;

const { options } = keyBody as unknown as z.ZodDiscriminatedUnion<[z.ZodObject, z.ZodObject]>;

/** Schema of the body of a new credential; each kind has its own name. */
export const newCredentialBody = z.discriminatedUnion("kind", [
  options[0].meta({ id: BODIES.api_key }),
  options[1].meta({ id: BODIES.ping_token }),
] as never).meta({
  id: "CredentialRequest",
  discriminator: {
    propertyName: "kind",
    mapping: Object.fromEntries(
      Object.entries(BODIES).map(([kind, name]) => [kind, `#/components/schemas/${name}`]),
    ),
  },
});

const credential = {
  id: idOf("key"),
  kind: z.enum(CREDENTIAL_KINDS),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)).optional().describe("Team keys only."),
  agent: z.string().optional().describe("Ping tokens only."),
  created_at: instantField,
  revoked_at: instantField.nullable().describe("Null unless revoked."),
  ends_at: instantField.nullable().describe("When a rotated credential stops working; else null."),
  replaced_by: idOf("key").nullable(),
  replaces: idOf("key").nullable(),
};

const key = z.object(credential).meta({ id: "Credential" });

const listedKey = z.object({
  ...credential,
  last_used_at: instantField.nullable()
    .describe("Exact in the process that served the request, up to an hour old in others."),
}).meta({ id: "ListedCredential" });

/** Schema of a created credential. */
export const newKey = z.object({
  ...credential,
  secret: z.string().meta({ pattern: "^(apk|ping)_(eu|us)_[0-9a-f]{32}$" })
    .describe("Returned only once."),
}).meta({ id: "NewCredential" });

const KEY = {
  id: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
  kind: "ping_token",
  name: "backup host",
  agent: "nightly",
  created_at: "2026-11-21T12:00:00.000Z",
  revoked_at: null,
  ends_at: null,
  replaced_by: null,
  replaces: null,
};

const SUCCESSOR = {
  ...KEY,
  id: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0004",
  replaces: KEY.id,
  secret: "ping_eu_0c9d2e8a47f3b5d09c7e1a2f4d686b1f",
};

/** Credential endpoints. */
export const KEY_ENDPOINTS = endpoints("Credentials", {
  createKey: {
    route: "POST /v1/keys",
    access: teamKey("admin"),
    handler: createKey,
    summary: "Create a credential",
    description:
      "Creates a team key with scopes (only `ingest` by default), or a ping token for one " +
      "agent. The `secret` is returned only in this response.",
    body: newCredentialBody,
    answers: created("Created.", newKey),
    errors: ["missing_field"],
    links: ["rotateKey", "revokeKey"],
    idempotency: "none",
    example: {
      body: { kind: "ping_token", name: "backup host", agent: "nightly" },
      answer: { ...KEY, secret: "ping_eu_6b1f0c9d2e8a47f3b5d09c7e1a2f4d68" },
    },
  },
  listKeys: {
    route: "GET /v1/keys",
    access: teamKey("admin"),
    handler: listKeys,
    summary: "List credentials",
    description:
      "Oldest first, including revoked and replaced credentials, without secrets. With " +
      "`agent`, a page may have fewer items than `limit`: continue until `cursor` is null.",
    query: {
      agent: slug().optional().describe("Ping tokens of this agent only."),
      limit: limitOf(ADMIN_PER_PAGE, "credentials"),
      cursor: cursorOf("cursor"),
    },
    answers: ok(
      "A page of credentials.",
      z.object({ keys: z.array(listedKey), cursor: nextCursor })
        .meta({ id: "CredentialPage" }),
    ),
    example: {
      query: { agent: "nightly" },
      answer: { keys: [{ ...KEY, last_used_at: null }], cursor: null },
      needs: ["createKey"],
    },
  },
  rotateKey: {
    route: "POST /v1/keys/:id/rotate",
    access: teamKey("admin"),
    mayLackBody: true,
    handler: rotateKey,
    summary: "Rotate a credential",
    description:
      "Creates a credential with the same name and scopes or agent. It works immediately, and the " +
      "old one keeps working for the overlap. A credential can be rotated once: a repeat returns " +
      "`credential_ended`, which names the successor; if the response was lost, rotate the " +
      "successor. A credential that rotates itself needs an overlap.",
    pathFields: { id: idOf("key").describe("The old credential's id.") },
    body: bodyDescription(rotateBody, "RotateRequest", {
      overlap_hours:
        "Hours for which the old secret keeps working; 24 when absent. At least 1 when a " +
        "credential rotates itself.",
    }),
    answers: created("The new credential.", newKey),
    errors: ["not_found", "credential_ended"],
    idempotency: "target",
    example: {
      path: { id: KEY.id },
      body: { overlap_hours: 48 },
      answer: SUCCESSOR,
      needs: ["createKey"],
    },
  },
  revokeKey: {
    route: "DELETE /v1/keys/:id",
    access: teamKey("admin"),
    handler: revokeKey,
    summary: "Revoke a credential",
    description: "The credential stops working immediately in this process and within 10 seconds " +
      "in others. A repeat changes nothing.",
    pathFields: { id: idOf("key").describe("The credential's id.") },
    answers: ok("The revoked credential.", key),
    errors: ["not_found"],
    idempotency: "target",
    example: {
      path: { id: KEY.id },
      answer: { ...KEY, revoked_at: "2026-11-21T12:00:00.000Z" },
      needs: ["createKey"],
    },
  },
});
