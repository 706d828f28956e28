/**
 * Reads teams' usage and their quota notices.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Notice } from "../../domain/teams/quota.ts";
import { keyParts, keys } from "../base/keys.ts";
import { countOf, getEntry, listRows, type Store } from "../store.ts";

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
export async function readUse(store: Store, team: TeamId, month: string): Promise<number> {
  return countOf(await getEntry(store, keys.usage(team, month)));
}
