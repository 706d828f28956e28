/** `/v1/audit`, described. */
import { z } from "zod";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { AUDIT_ACTIONS } from "../../../domain/teams/audit_log.ts";
import type { OperationDescription } from "../../openapi/describe.ts";
import {
  anyObject,
  cursorOf,
  instantField,
  jobId,
  limitOf,
  nextCursor,
  sentInstantField,
} from "../../openapi/fields.ts";

const actor = z.object({
  id: z.string().describe("A credential; `operator`, or `settings` for a start of the service."),
  name: z.string().nullable().describe("The credential's name."),
}).meta({ id: "AuditActor" });

const entry = z.object({
  at: instantField,
  team: jobId,
  actor,
  action: z.enum(AUDIT_ACTIONS),
  target: z.string().describe("Id of what it was done to."),
  details: anyObject.describe("What changed; never a secret."),
}).meta({ id: "AuditEntry" });

/** The audit log of a team, and of the operator. */
export const AUDIT_OPERATIONS: readonly OperationDescription[] = [
  {
    method: "GET",
    path: "/v1/audit",
    id: "listAudit",
    tag: "Audit log",
    summary: "Read the audit log",
    description:
      "Every change of credentials, the team, its rate card, every repricing and every " +
      "deletion, newest first. The operator reads what it did itself. Entries are kept as long as " +
      "the team.",
    query: {
      from: sentInstantField.optional().describe("First instant, inclusive."),
      to: sentInstantField.optional().describe("Last instant, exclusive; not before `from`."),
      limit: limitOf(ADMIN_PER_PAGE, "Entries"),
      cursor: cursorOf("cursor"),
    },
    answers: [{
      status: 200,
      description: "A page.",
      schema: z.object({ entries: z.array(entry), cursor: nextCursor }).meta({ id: "AuditPage" }),
    }],
    errors: [],
    idempotency: "read",
    example: {
      status: 200,
      answer: {
        entries: [{
          at: "2026-11-21T12:00:00.000Z",
          team: "7C1DPAT0M5R8VQ2E9GZ4KX3HWN",
          actor: { id: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001", name: "test" },
          action: "credential.created",
          target: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
          details: { kind: "ping_token", name: "backup host", agent: "nightly" },
        }],
        cursor: null,
      },
      needs: ["createKey"],
    },
  },
];
