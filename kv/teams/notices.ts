/**
 * Stores quota notices, with an index of undelivered ones.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  isOpen,
  type Notice,
  type NoticeName,
  type NoticeStore,
  type ReadNotice,
} from "../../domain/teams/quota_notice.ts";
import { keys } from "../base/keys.ts";
import { eachRow, getEntry, getValue, listRows, type Store } from "../store.ts";
import { readUse } from "./usage.ts";

/** Creates the store of notices. */
export function createNoticeStore(store: Store): NoticeStore {
  return {
    teams: () => teamsOf(store),
    team: (id) => getValue<Team>(store, keys.team(id)),
    used: (team, month) => readUse(store, team, month),
    has: async (name) => (await read(store, name)) !== null,
    add: async (notice) => await write(store, notice, null) !== null,
    open: () => openNotices(store),
    change: ({ version }, to) => write(store, to, version),
  };
}

async function* teamsOf(store: Store): AsyncGenerator<TeamId> {
  for await (const { key } of eachRow(store, { prefix: keys.teams() })) yield key[1] as TeamId;
}

async function openNotices(store: Store): Promise<ReadNotice[]> {
  const notices: ReadNotice[] = [];
  for (const { key } of await listRows(store, { prefix: keys.openNotices() })) {
    const name = { team: key[1], month: key[2], percent: key[3] } as NoticeName;
    const stored = await read(store, name);
    if (stored !== null && isOpen(stored.notice)) notices.push(stored);
  }
  return notices;
}

async function read(
  store: Store,
  { team, month, percent }: NoticeName,
): Promise<ReadNotice | null> {
  const { value, versionstamp } = await getEntry(store, keys.notice(team, month, percent));
  return versionstamp === null ? null : { notice: value as Notice, version: versionstamp };
}

/** Writes a notice and its index row; null on a conflict. */
async function write(
  store: Store,
  notice: Notice,
  expected: string | null,
): Promise<ReadNotice | null> {
  const { team, month, percent } = notice;
  const key = keys.notice(team, month, percent);
  const index = keys.openNotice(team, month, percent);
  const version = await store.writer.commit({
    team,
    checks: [{ key, versionstamp: expected }],
    sets: [{ key, value: notice }, ...(isOpen(notice) ? [{ key: index, value: true }] : [])],
    deletes: isOpen(notice) ? [] : [index],
  });
  return version === null ? null : { notice, version };
}
