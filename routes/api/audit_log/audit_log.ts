/** `GET /v1/audit`: who changed what of a team, and when. */
import { rawOf } from "../../../domain/core/raw_json.ts";
import {
  type AuditPlace,
  parseAuditQuery,
  type ReadAuditEntry,
} from "../../../domain/teams/audit_log.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";

export function listAudit({ auditLog }: AppDeps): Handle {
  return async (c) => {
    const query = parseAuditQuery(queryOf(c), parseAuditCursor);
    if (!query.ok) return fail(c, query.problem);
    const { entries, next } = await auditLog.page(c.get("principal").team.id, query.value);
    const cursor = next === null ? null : auditCursor(next);
    return answer(c, 200, rawOf({ entries: entries.map(entryFields), cursor }));
  };
}

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
