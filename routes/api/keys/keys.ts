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

/** Creates the credential of the body for a team, and shows its secret this once. */
export async function answerNewKey(
  { credentials }: AppDeps,
  c: RequestContext,
  team: Pick<Principal["team"], "id">,
): Promise<Response> {
  const spec = parseKey(c.get("body"));
  if (!spec.ok) return fail(c, spec.problem);
  const { credentialId } = c.get("principal");
  const made = await credentials.create(team, spec.value, credentialId);
  return answerSecret(c, rawOf(newKeyFields(made)));
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

/** Any other text names no key, and may be longer than the store takes. */
export function isKeyId(text: string): boolean {
  return judgeId("key", text) === "valid";
}

/** The place that a cursor of the list stands for, or null. */
export function keyIdOf(cursor: string): string | null {
  const id = decodeCursor(cursor);
  return id !== null && isKeyId(id) ? id : null;
}

/** The same bytes for a key that never was and one of another team. */
export const NO_SUCH_KEY = notFound("No such key: list them to see ids");

/** A new credential with its secret. */
export function newKeyFields(
  { record, secret }: { readonly record: CredentialRecord; readonly secret: string },
) {
  return { ...keyFields(record), secret };
}

/** A credential without its secret. */
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

/** The body of a new credential, each kind of it under a name. */
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
  scopes: z.array(z.enum(SCOPES)).optional().describe("Of a key."),
  agent: z.string().optional().describe("Of a ping token."),
  created_at: instantField,
  revoked_at: instantField.nullable().describe("Null unless it was revoked."),
  ends_at: instantField.nullable().describe("When it stops because it was replaced."),
  replaced_by: idOf("key").nullable(),
  replaces: idOf("key").nullable(),
};

const key = z.object(credential).meta({ id: "Credential" });

const listedKey = z.object({
  ...credential,
  last_used_at: instantField.nullable()
    .describe("Exact in the process that served it, up to an hour old in others."),
}).meta({ id: "ListedCredential" });

/** A credential as its creation answers it. */
export const newKey = z.object({
  ...credential,
  secret: z.string().meta({ pattern: "^(apk|ping)_(eu|us)_[0-9a-f]{32}$" })
    .describe("Shown this once."),
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

/** Keys and ping tokens of the team. */
export const KEY_ENDPOINTS = endpoints("Credentials", [
  {
    method: "POST",
    path: "/v1/keys",
    access: teamKey("admin"),
    handler: createKey,
    id: "createKey",
    summary: "Create a credential",
    description: "A team key with scopes (`ingest` alone when none are named), or a ping token " +
      "that speaks for one agent. No other answer has the `secret`.",
    body: newCredentialBody,
    answers: created("Created.", newKey),
    errors: ["missing_field"],
    links: ["rotateKey", "revokeKey"],
    idempotency: "none",
    example: {
      body: { kind: "ping_token", name: "backup host", agent: "nightly" },
      status: 201,
      answer: { ...KEY, secret: "ping_eu_6b1f0c9d2e8a47f3b5d09c7e1a2f4d68" },
    },
  },
  {
    method: "GET",
    path: "/v1/keys",
    access: teamKey("admin"),
    handler: listKeys,
    id: "listKeys",
    summary: "List credentials",
    description: "Those that ended too, oldest first, never a secret. With `agent` a page may be " +
      "short: go on until `cursor` is null.",
    query: {
      agent: slug().optional().describe("Only the ping tokens of this agent."),
      limit: limitOf(ADMIN_PER_PAGE, "Credentials"),
      cursor: cursorOf("cursor"),
    },
    answers: ok(
      "A page.",
      z.object({ keys: z.array(listedKey), cursor: nextCursor })
        .meta({ id: "CredentialPage" }),
    ),
    example: {
      query: { agent: "nightly" },
      status: 200,
      answer: { keys: [{ ...KEY, last_used_at: null }], cursor: null },
      needs: ["createKey"],
    },
  },
  {
    method: "POST",
    path: "/v1/keys/:id/rotate",
    access: teamKey("admin"),
    mayLackBody: true,
    handler: rotateKey,
    id: "rotateKey",
    summary: "Rotate a credential",
    description:
      "A new credential with the same name, scopes or agent works at once; the old one " +
      "goes on for a while. It is replaced once: again is `credential_ended`, which names the " +
      "successor, to be rotated when the answer was lost. A credential that rotates itself cannot " +
      "end at once.",
    pathFields: { id: idOf("key").describe("The old credential's id.") },
    body: bodyDescription(rotateBody, "RotateRequest", {
      overlap_hours:
        "How long the old secret goes on; 24 when absent. At least 1 for the caller's own.",
    }),
    answers: created("The new credential.", newKey),
    errors: ["not_found", "credential_ended"],
    idempotency: "target",
    example: {
      path: { id: KEY.id },
      body: { overlap_hours: 48 },
      status: 201,
      answer: SUCCESSOR,
      needs: ["createKey"],
    },
  },
  {
    method: "DELETE",
    path: "/v1/keys/:id",
    access: teamKey("admin"),
    handler: revokeKey,
    id: "revokeKey",
    summary: "Revoke a credential",
    description: "It stops at once in this process, within 10 seconds in others. Again changes " +
      "nothing.",
    pathFields: { id: idOf("key").describe("The credential's id.") },
    answers: ok("Its record.", key),
    errors: ["not_found"],
    idempotency: "target",
    example: {
      path: { id: KEY.id },
      status: 200,
      answer: { ...KEY, revoked_at: "2026-11-21T12:00:00.000Z" },
      needs: ["createKey"],
    },
  },
]);
