/**
 * Stores teams' usage and their quota notices, with an index of undelivered notices.
 *
 * @module
 */
import { kindLook } from "../../domain/alerts/look.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  isOpen,
  type MonthUse,
  type Notice,
  type NoticeName,
  type NoticeStore,
  type ReadNotice,
  type UsageStore,
} from "../../domain/teams/quota.ts";
import type { Team } from "../../domain/teams/team.ts";
import { keyParts, keys } from "../base/keys.ts";
import { dueSet } from "../clock/due_rows.ts";
import {
  countOf,
  eachRow,
  findEntry,
  getEntry,
  getValue,
  listRows,
  rowsAfter,
  type Store,
} from "../store.ts";

export function createUsageStore(store: Store): UsageStore {
  const { reads } = store;
  return {
    used: (team, month) => reads.run(team, () => readUse(store, team, month)),
    months: (team, max) =>
      reads.run(team, async () => {
        const options = { limit: max, reverse: true };
        const rows = await listRows(store, { prefix: keys.teamUsage(team) }, options);
        return rows.map((row) => ({ month: keyParts.name(row.key), used: countOf(row) }));
      }),
    notices: (team, month) =>
      reads.run(team, async () => {
        const rows = await listRows<Notice>(store, { prefix: keys.notices(team, month) });
        return rows.map(({ value }) => value);
      }),
  };
}

/** Returns the events counted for a team in a month, `YYYY-MM`. */
async function readUse(store: Store, team: TeamId, month: string): Promise<number> {
  return countOf(await getEntry(store, keys.usage(team, month)));
}

export function createNoticeStore(store: Store): NoticeStore {
  return {
    async *teams(after) {
      const range = rowsAfter(keys.teams(), after && keys.team(after));
      for await (const { key } of eachRow(store, range)) yield keyParts.team(key);
    },
    lastCheck: () => getValue(store, keys.noticeCheck()),
    saveCheck: async (value) => {
      await store.writer.commit({ sets: [{ key: keys.noticeCheck(), value }] });
    },
    team: (id) => getValue<Team>(store, keys.team(id)),
    used: (team, month) => readUse(store, team, month),
    has: async (name) => (await read(store, name)) !== null,
    add: async (notice) => await write(store, notice, null) !== null,
    async open() {
      const notices: ReadNotice[] = [];
      for (const { key } of await listRows(store, { prefix: keys.openNotices() })) {
        const name = { team: key[1], month: key[2], percent: key[3] } as NoticeName;
        const stored = await read(store, name);
        if (stored !== null && isOpen(stored.notice)) notices.push(stored);
      }
      return notices;
    },
    change: ({ version }, to) => write(store, to, version),
  };
}

async function read(store: Store, name: NoticeName): Promise<ReadNotice | null> {
  const entry = await findEntry<Notice>(store, keys.notice(name));
  return entry && { notice: entry.value, version: entry.versionstamp };
}

/**
 * Writes a notice and its index row; null on a conflict. For a new one the clock looks at the alert
 * rules about the quota.
 */
async function write(
  store: Store,
  notice: Notice,
  expected: string | null,
): Promise<ReadNotice | null> {
  const [key, index] = [keys.notice(notice), keys.openNotice(notice)];
  const { team, dueMs: at } = notice;
  const version = await store.writer.commit({
    team,
    checks: [{ key, versionstamp: expected }],
    sets: [
      { key, value: notice },
      ...(isOpen(notice) ? [{ key: index, value: true }] : []),
      ...(expected === null ? [dueSet({ at, kind: "rule", team, name: kindLook("quota") })] : []),
    ],
    deletes: isOpen(notice) ? [] : [index],
  });
  return version === null ? null : { notice, version };
}
