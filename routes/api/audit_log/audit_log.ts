/** `GET /v1/audit`: who changed what of a team, and when. */
import type { Handler } from "../../http/admission.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import {
  AUDIT_ACTIONS,
  type AuditPlace,
  parseAuditQuery,
  type ReadAuditEntry,
} from "../../../domain/teams/audit_log.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { z } from "zod";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import {
  anyObject,
  cursorOf,
  instantField,
  jobId,
  limitOf,
  nextCursor,
  sentInstantField,
} from "../../openapi/fields.ts";

const listAudit: Handler = async (c, { auditLog }) => {
  const query = parseAuditQuery(queryOf(c), parseAuditCursor);
  if (!query.ok) return fail(c, query.problem);
  const { entries, next } = await auditLog.page(c.get("principal").team.id, query.value);
  const cursor = next === null ? null : auditCursor(next);
  return answer(c, 200, rawOf({ entries: entries.map(entryFields), cursor }));
};

function entryFields(entry: ReadAuditEntry) {
  const { at, team, actor, actorName, action, target, details } = entry;
  return {
    at: formatInstant(at),
    team,
    actor: { id: actor, name: actorName },
    action,
    target,
    details,
  };
}

/** Writes a place in a log. */
export function auditCursor({ at, name }: AuditPlace): string {
  return encodeCursor(`${at} ${name}`);
}

/** Reads what {@link auditCursor} wrote, or answers null. */
export function parseAuditCursor(cursor: string): AuditPlace | null {
  const match = /^(\d{1,16}) ([0-9A-Z]{26})$/.exec(decodeCursor(cursor) ?? "");
  const [, at, name] = match ?? [];
  return at === undefined || name === undefined ? null : { at: Number(at), name };
}

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
export const AUDIT_ENDPOINTS = endpoints("Audit log", [
  {
    method: "GET",
    path: "/v1/audit",
    access: teamKeyOrOperator("admin"),
    handler: listAudit,
    id: "listAudit",
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
    answers: ok(
      "A page.",
      z.object({ entries: z.array(entry), cursor: nextCursor }).meta({ id: "AuditPage" }),
    ),
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
]);
