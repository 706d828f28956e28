/** `/v1/keys`: create, list, rotate and revoke a team's credentials. */
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { ANY_OF_TEAM, teamKey } from "../../http/access.ts";
import {
  type CredentialRecord,
  INVALID_CREDENTIAL,
  type Principal,
  SCOPES,
} from "../../../domain/teams/credentials.ts";
import { existing, notFound } from "../../../domain/core/errors.ts";
import { judgeId, type Region, REGIONS } from "../../../domain/core/ids.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import {
  keyBody,
  type ListedCredential,
  parseKey,
  parseKeysQuery,
  parseRotation,
  rotateBody,
} from "../../../domain/teams/key_list.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { tier } from "../../../domain/teams/team_change.ts";
import { answer } from "../../http/answer.ts";
import { decodeCursor, encodeCursor, queryOf } from "../../http/query.ts";
import { z } from "zod";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { created, endpoints } from "../../openapi/describe.ts";
import { idOf, slug } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { listOf, returns } from "../answers.ts";

/** Creates a team's credential from the body, and returns its secret, which is shown only once. */
export async function answerNewKey(
  { credentials }: AppDeps,
  c: RequestContext,
  team: Pick<Principal["team"], "id">,
): Promise<Response> {
  const spec = parseKey(c.get("body"));
  const { credentialId } = c.get("principal");
  const { record, secret } = await credentials.create(team, spec, credentialId);
  return answerSecret(c, newKey.write({ ...record, secret }));
}

/** Answers with a secret, which no proxy may cache. */
export function answerSecret(c: RequestContext, json: RawJson): Response {
  return answer(c, 201, json, { "Cache-Control": "no-store" });
}

/** Decodes a cursor of the key list; null when it is invalid. */
export function keyIdOf(cursor: string): string | null {
  const id = decodeCursor(cursor);
  return judgeId("key", id) === "valid" ? id : null;
}

/** The same error for an unknown key and a key of another team. */
export const NO_SUCH_KEY = notFound("No such key: list the keys to see their ids");

/** Schema of the body of a new credential. */
export const newCredentialBody = keyBody.meta({
  id: "CredentialRequest",
  discriminator: {
    propertyName: "kind",
    mapping: {
      api_key: "#/components/schemas/ApiKeyRequest",
      ping_token: "#/components/schemas/PingTokenRequest",
    },
  },
});

const FIELDS: shape.WireFields<CredentialRecord> = {
  id: shape.id("key")("id"),
  kind: shape.oneOf("CredentialKind", ["api_key", "ping_token"])(({ grant }) => grant.kind),
  name: shape.text("name"),
  scopes: shape.list(shape.oneOf("Scope", SCOPES)).optional(
    ({ grant }) => grant.kind === "api_key" ? grant.scopes : undefined,
    "Team keys only.",
  ),
  agent: shape.text.optional(
    ({ grant }) => grant.kind === "ping_token" ? grant.agent : undefined,
    "Ping tokens only.",
  ),
  created_at: shape.instant("createdAt"),
  revoked_at: shape.instant.orNull("revokedAt", "Null unless revoked."),
  ends_at: shape.instant.orNull("endsAt", "When a rotated credential stops working; else null."),
  replaced_by: shape.id("key").orNull("replacedBy"),
  replaces: shape.id("key").orNull("replaces"),
};

const key = shape.object("Credential", FIELDS);

const listedKey = shape.object<ListedCredential>("ListedCredential", {
  ...FIELDS,
  last_used_at: shape.instant.orNull(
    "lastUsedAt",
    "Exact in the process that served the request, up to an hour old in others.",
  ),
});

const keyPage = shape.page("CredentialPage", "keys", listedKey);

/** The caller of a request. */
interface Caller {
  readonly region: Region;
  readonly team: Team;
  readonly record: ListedCredential;
}

const caller = shape.object<Caller>("Caller", {
  region: shape.oneOf("Region", REGIONS)("region"),
  team: shape.object<Team>("CallerTeam", {
    id: shape.text("id"),
    name: shape.text("name"),
    tier: shape.wire<Team["tier"]>(tier)("tier", "The plan."),
  })("team"),
  key: listedKey("record"),
});

const secret = z.string().meta({ pattern: "^(apk|ping)_(eu|us)_[0-9a-f]{32}$" });

export const newKey = shape.object<CredentialRecord & { readonly secret: string }>(
  "NewCredential",
  { ...FIELDS, secret: shape.wire(secret)("secret", "Returned only once.") },
);

export const KEY_ENDPOINTS = endpoints("Credentials", {
  getMe: {
    route: "GET /v1/me",
    access: ANY_OF_TEAM,
    ...returns(
      "The caller.",
      caller,
      async (_, { credentials, region }, { team, credentialId }) => {
        const record = existing(await credentials.read(team, credentialId), INVALID_CREDENTIAL);
        return { region, team, record };
      },
    ),
    summary: "Read who is calling",
    description: "Returns the team, the plan and the region of the credential that the request " +
      "was sent with, and what the credential may do. Any team key and any ping token may call it.",
  },
  createKey: {
    route: "POST /v1/keys",
    access: teamKey("admin"),
    handler: (c, deps, { team }) => answerNewKey(deps, c, team),
    summary: "Create a credential",
    description: "Creates a team key with scopes (only `ingest` by default), or a ping token for " +
      "one agent. The `secret` is returned only in this response.",
    body: newCredentialBody,
    answers: created("Created.", newKey),
    errors: ["missing_field"],
    links: ["rotateKey", "revokeKey"],
    idempotency: "none",
  },
  listKeys: {
    route: "GET /v1/keys",
    access: teamKey("admin"),
    ...listOf("credentials", keyPage, ADMIN_PER_PAGE, async (c, { credentials }, { team }) => {
      const { records, next } = await credentials.list(team, parseKeysQuery(queryOf(c), keyIdOf));
      return { items: records, cursor: next && encodeCursor(next) };
    }, { agent: slug().optional().describe("Ping tokens of this agent only.") }),
    summary: "List credentials",
    description: "Oldest first, including revoked and replaced credentials, without secrets. " +
      "With `agent`, a page may have fewer items than `limit`: continue until `cursor` is null.",
  },
  rotateKey: {
    route: "POST /v1/keys/:id/rotate",
    access: teamKey("admin"),
    mayLackBody: true,
    handler: async (c, { credentials }, { team, credentialId }) => {
      const overlap = parseRotation(c.get("body"));
      const id = c.req.param("id") ?? "";
      const rotated = await credentials.rotate(team, id, overlap, credentialId);
      const { record, secret } = existing(rotated, NO_SUCH_KEY);
      return answerSecret(c, newKey.write({ ...record, secret }));
    },
    summary: "Rotate a credential",
    description: "Creates a credential with the same name and scopes or agent. It works " +
      "immediately, and the old one keeps working for the overlap. A credential can be rotated " +
      "once: a repeat returns `credential_ended`, which names the successor; if the response was " +
      "lost, rotate the successor. A credential that rotates itself needs an overlap.",
    pathFields: { id: idOf("key").describe("The old credential's id.") },
    body: rotateBody.meta({ id: "RotateRequest" }),
    answers: created("The new credential.", newKey),
    errors: ["not_found", "credential_ended"],
    idempotency: "target",
  },
  revokeKey: {
    route: "DELETE /v1/keys/:id",
    access: teamKey("admin"),
    ...returns("The revoked credential.", key, async (c, { credentials }, principal) => {
      const { team, credentialId } = principal;
      const record = await credentials.revoke(team, c.req.param("id") ?? "", credentialId);
      return existing(record, NO_SUCH_KEY);
    }),
    summary: "Revoke a credential",
    description: "The credential stops working immediately in this process and within 10 seconds " +
      "in others. A repeat changes nothing.",
    pathFields: { id: idOf("key").describe("The credential's id.") },
    errors: ["not_found"],
    idempotency: "target",
  },
});
