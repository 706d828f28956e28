/**
 * Audit logs in the store: an entry is a row in the commit of the change it tells of.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  type AuditEntry,
  type AuditLogStore,
  type AuditPage,
  type AuditQuery,
  logsOf,
} from "../../domain/teams/audit_log.ts";
import { keys } from "../base/keys.ts";
import { listRows, newRowName, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";
import { readCredentials } from "./credential_rows.ts";

/** The rows of an entry, to be set in the commit of what it tells. */
export function auditRows(entry: AuditEntry): NonNullable<Write["sets"]> {
  const name = newRowName();
  return logsOf(entry).map((log) => ({ key: keys.auditEntry(log, entry.at, name), value: entry }));
}

/** Creates the store. */
export function createAuditLogStore(store: Store): AuditLogStore {
  return { page: (log, query) => store.reads.run(log, () => readPage(store, log, query)) };
}

async function readPage(
  store: Store,
  log: TeamId,
  { from, to, after, limit }: AuditQuery,
): Promise<AuditPage> {
  const range = keys.auditEntries(log, from, to);
  const end = after === null || after.at >= to
    ? range
    : { ...range, end: keys.auditEntry(log, after.at, after.name) };
  if (after !== null && after.at < from) return { entries: [], next: null };
  const rows = await listRows<AuditEntry>(store, end, { limit: limit + 1, reverse: true });
  const shown = rows.slice(0, limit);
  const names = await namesOf(store, log, shown.map(({ value }) => value.actor));
  const last = rows.length > limit ? shown.at(-1)?.key : undefined;
  return {
    entries: shown.map(({ value }) => ({ ...value, actorName: names.get(value.actor) ?? null })),
    next: last === undefined ? null : { at: Number(last[2]), name: String(last[3]) },
  };
}

/** Names of the credentials that acted. They are never deleted, and a name never changes. */
async function namesOf(
  store: Store,
  log: TeamId,
  actors: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const records = await readCredentials(store, log, [...new Set(actors)]);
  return new Map(records.map(({ id, name }) => [id, name]));
}
