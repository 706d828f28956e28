/**
 * Stores teams' usage and their quota notices, with an index of undelivered notices.
 *
 * @module
 */
import { kindLook } from "../../domain/alerts/look.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  isOpen,
  type Notice,
  type NoticeCheck,
  type NoticeName,
  type ReadNotice,
} from "../../domain/teams/quota.ts";
import type { Team } from "../../domain/teams/team.ts";
import { keyParts, keys } from "../base/keys.ts";
import { workSet } from "../work/work_rows.ts";
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

/** Reads usage and notices. */
export type UsageStore = ReturnType<typeof createUsageStore>;

export function createUsageStore(store: Store) {
  const { reads } = store;
  return {
    /** Returns the events counted in a month, `YYYY-MM`. */
    used: (team: TeamId, month: string) => reads.run(team, () => readUse(store, team, month)),
    /** Returns the last months with usage, latest first. */
    months: (team: TeamId, max: number) =>
      reads.run(team, async () => {
        const options = { limit: max, reverse: true };
        const rows = await listRows(store, { prefix: keys.teamUsage(team) }, options);
        return rows.map((row) => ({ month: keyParts.name(row.key), used: countOf(row) }));
      }),
    /** Returns the notices of a month, by percentage. */
    notices: (team: TeamId, month: string) =>
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

/** Notices as the notice job uses them. */
export type NoticeStore = ReturnType<typeof createNoticeStore>;

export function createNoticeStore(store: Store) {
  return {
    /** Iterates over the teams after one; over all if it is null. */
    async *teams(after: TeamId | null): AsyncGenerator<TeamId> {
      const range = rowsAfter(keys.teams(), after && keys.team(after));
      for await (const { key } of eachRow(store, range)) yield keyParts.team(key);
    },
    /** Reads the last check of all teams; null if there was none. */
    lastCheck: () => getValue<NoticeCheck>(store, keys.noticeCheck()),
    /** Stores the progress of a check of all teams. */
    saveCheck: async (value: NoticeCheck) => {
      await store.writer.commit({ sets: [{ key: keys.noticeCheck(), value }] });
    },
    team: (id: TeamId) => getValue<Team>(store, keys.team(id)),
    used: (team: TeamId, month: string) => readUse(store, team, month),
    has: async (name: NoticeName) => (await read(store, name)) !== null,
    /** Stores a new notice; returns false if it already exists. */
    add: async (notice: Notice) => await write(store, notice, null) !== null,
    /** Returns the notices that still need work. */
    async open(): Promise<readonly ReadNotice[]> {
      const notices: ReadNotice[] = [];
      for (const { key } of await listRows(store, { prefix: keys.openNotices() })) {
        const name = { team: key[1], month: key[2], percent: key[3] } as NoticeName;
        const stored = await read(store, name);
        if (stored !== null && isOpen(stored.notice)) notices.push(stored);
      }
      return notices;
    },
    /** Changes a notice; returns null if it was changed since it was read. */
    change: ({ version }: ReadNotice, to: Notice) => write(store, to, version),
  };
}

async function read(store: Store, name: NoticeName): Promise<ReadNotice | null> {
  const entry = await findEntry<Notice>(store, keys.notice(name));
  return entry && { notice: entry.value, version: entry.versionstamp };
}

/**
 * Writes a notice and its index row; null on a conflict. For a new one the loop looks at the alert
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
      ...(expected === null ? [workSet({ at, kind: "rule", team, name: kindLook("quota") })] : []),
    ],
    deletes: isOpen(notice) ? [] : [index],
  });
  return version === null ? null : { notice, version };
}
