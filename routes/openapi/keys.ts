/** `/v1/keys`, described. */
import { z } from "zod";
import { SCOPES } from "../../domain/credentials.ts";
import { keyBody } from "../../domain/input/schemas.ts";
import type { Operation } from "./describe.ts";
import { idOf, instant } from "./fields.ts";

const credential = {
  id: idOf("key"),
  kind: z.enum(["api_key", "ping_token"]),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)).optional().describe("Of a key."),
  agent: z.string().optional().describe("Of a ping token."),
  created_at: instant,
  revoked_at: instant.nullable().describe("Null while it works."),
};

const key = z.object(credential).meta({ id: "Credential" });

const newKey = z.object({
  ...credential,
  secret: z.string().describe("Shown this once."),
}).meta({ id: "NewCredential" });

const KEY = {
  id: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
  kind: "ping_token",
  name: "backup host",
  agent: "nightly",
  created_at: "2026-11-21T12:00:00.000Z",
  revoked_at: null,
};

/** Keys and ping tokens of the team. */
export const KEY_OPERATIONS: readonly Operation[] = [
  {
    method: "POST",
    path: "/v1/keys",
    id: "createKey",
    tag: "Credentials",
    summary: "Create a credential",
    description: "A team key with scopes (`ingest` alone when none are named), or a ping token " +
      "that speaks for one agent. No other answer has the `secret`.",
    body: keyBody as unknown as z.ZodType,
    answers: [{
      status: 201,
      description: "Created.",
      schema: newKey,
      headers: ["Cache-Control"],
    }],
    errors: ["missing_field"],
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
    id: "listKeys",
    tag: "Credentials",
    summary: "List credentials",
    description: "Revoked ones too, oldest first, never a secret.",
    answers: [{
      status: 200,
      description: "All of them.",
      schema: z.object({ keys: z.array(key) }),
    }],
    errors: [],
    idempotency: "read",
    example: { status: 200, answer: { keys: [KEY] }, needs: ["createKey"] },
  },
  {
    method: "DELETE",
    path: "/v1/keys/:id",
    id: "revokeKey",
    tag: "Credentials",
    summary: "Revoke a credential",
    description: "It stops at once in this process, within 10 seconds in others. Again changes " +
      "nothing.",
    pathFields: { id: idOf("key").describe("The credential's id.") },
    answers: [{ status: 200, description: "Its record.", schema: key }],
    errors: ["not_found"],
    idempotency: "target",
    example: {
      path: { id: KEY.id },
      status: 200,
      answer: { ...KEY, revoked_at: "2026-11-21T12:00:00.000Z" },
      needs: ["createKey"],
    },
  },
];
