/** `GET /v1/audit`: the audit log of a team. */
import { teamKeyOrOperator } from "../../http/access.ts";
import {
  AUDIT_ACTIONS,
  type AuditPlace,
  parseAuditQuery,
  type ReadAuditEntry,
} from "../../../domain/teams/audit_log.ts";
import { decodeCursor, encodeCursor, queryOf } from "../../http/query.ts";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { endpoints } from "../../openapi/describe.ts";
import { jobId, RANGE } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { listOf } from "../answers.ts";

/** Encodes a position in the log. */
export function auditCursor({ at, name }: AuditPlace): string {
  return encodeCursor(`${at} ${name}`);
}

/** Decodes a cursor of {@link auditCursor}; null when it is invalid. */
export function parseAuditCursor(cursor: string): AuditPlace | null {
  const match = /^(\d{1,16}) ([0-9A-Z]{26})$/.exec(decodeCursor(cursor) ?? "");
  const [, at, name] = match ?? [];
  return at === undefined || name === undefined ? null : { at: Number(at), name };
}

const actor = shape.object<ReadAuditEntry>("AuditActor", {
  id: shape.text(
    "actor",
    "Id of a credential; `operator`; `settings` for changes at service start; or `service` for changes that the service makes by itself.",
  ),
  name: shape.text.orNull("actorName", "The credential's name."),
});

const entry = shape.object<ReadAuditEntry>("AuditEntry", {
  at: shape.instant("at"),
  team: shape.wire(jobId)("team"),
  actor: actor((entry) => entry),
  action: shape.oneOf("AuditAction", AUDIT_ACTIONS)("action"),
  target: shape.text("target", "Id of the changed resource."),
  details: shape.anyObject("details", "The changed values; never a secret."),
});

const auditPage = shape.page("AuditPage", "entries", entry);

export const AUDIT_ENDPOINTS = endpoints("Audit log", {
  listAudit: {
    route: "GET /v1/audit",
    access: teamKeyOrOperator("admin"),
    ...listOf("entries", auditPage, ADMIN_PER_PAGE, async (c, { auditLog }, { team }) => {
      const query = parseAuditQuery(queryOf(c), parseAuditCursor);
      const { entries, next } = await auditLog.page(team.id, query);
      return { items: entries, cursor: next && auditCursor(next) };
    }, RANGE),
    summary: "Read the audit log",
    description: "Lists changes of credentials, the team, its rate card and its monitors, " +
      "repricing jobs and deletions, newest first. The operator's key reads the operator's own " +
      "actions. Entries are kept as long as the team exists.",
  },
});
