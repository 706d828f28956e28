/**
 * Reads teams' usage.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Notice, UsageStore } from "../../domain/teams/quota_notice.ts";
import type { MonthUse } from "../../domain/teams/quota.ts";
import { keys } from "../base/keys.ts";
import { countOf, getEntry, listRows, type Store } from "../store.ts";

/** Creates the store of usage. */
export function createUsageStore(store: Store): UsageStore {
  return {
    used: (team, month) => store.reads.run(team, () => readUse(store, team, month)),
    months: (team, max) => store.reads.run(team, () => readMonths(store, team, max)),
    notices: (team, month) => store.reads.run(team, () => readNotices(store, team, month)),
  };
}

/** Returns the events counted for a team in a month, `YYYY-MM`. */
export async function readUse(store: Store, team: TeamId, month: string): Promise<number> {
  return countOf(await getEntry(store, keys.usage(team, month)));
}

async function readMonths(store: Store, team: TeamId, max: number): Promise<MonthUse[]> {
  const options = { limit: max, reverse: true };
  const rows = await listRows(store, { prefix: keys.teamUsage(team) }, options);
  return rows.map((row) => ({ month: String(row.key[2]), used: countOf(row) }));
}

async function readNotices(store: Store, team: TeamId, month: string): Promise<Notice[]> {
  const rows = await listRows(store, { prefix: keys.notices(team, month) });
  return rows.map(({ value }) => value as Notice);
}
