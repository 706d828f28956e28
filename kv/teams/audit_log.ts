/**
 * Stores audit logs: an entry is committed together with the change it records.
 *
 * @module
 */
import type { CredentialRecord } from "../../domain/teams/credentials.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  logsOf,
} from "../../domain/teams/audit_log.ts";
import { keys } from "../base/keys.ts";
import { getAll, listRows, newRowName, type Store } from "../store.ts";
import type { Write } from "../writer/group.ts";

/** Returns the rows of an entry, to set in the commit of the change it records. */
export function auditRows(entry: AuditEntry): NonNullable<Write["sets"]> {
  const name = newRowName();
  return logsOf(entry).map((log) => ({ key: keys.auditEntry(log, entry.at, name), value: entry }));
}

/** Store of all teams' logs. */
export type AuditLogStore = ReturnType<typeof createAuditLogStore>;

export function createAuditLogStore(store: Store) {
  return {
    /** Reads a page of the log of a team, or of the operator. */
    page: (log: TeamId, query: AuditQuery) =>
      store.reads.run(log, () => readPage(store, log, query)),
  };
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
  const page = rows.slice(0, limit);
  const names = await namesOf(store, log, page.map(({ value }) => value.actor));
  const last = rows.length > limit ? page.at(-1)?.key : undefined;
  return {
    entries: page.map(({ value }) => ({ ...value, actorName: names.get(value.actor) ?? null })),
    next: last === undefined ? null : { at: Number(last[2]), name: String(last[3]) },
  };
}

/** Returns names of actors' credentials. Credentials are never deleted, names never change. */
async function namesOf(
  store: Store,
  log: TeamId,
  actors: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(actors)];
  const pointers = await getAll(store, ids.map((id) => keys.teamCredential(log, id)));
  const hashes = pointers.map(({ value }) => value).filter((hash) => hash instanceof Uint8Array);
  const records = await getAll(store, hashes.map(keys.credential));
  return new Map(records.map(({ value }) => {
    const { id, name } = value as CredentialRecord;
    return [id, name];
  }));
}
