/**
 * Looks at silences that ended, were changed or deleted: what they held back and is still open is
 * sent once (decision 78).
 *
 * @module
 */
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keyParts, keys } from "../base/keys.ts";
import { workKey } from "../work/work_rows.ts";
import type { ChangeDeps } from "../team/plan.ts";
import { listRows, rowsAfter } from "../store.ts";
import { readIncidents } from "./rows.ts";

/** Open incidents of one commit. */
const INCIDENTS_PER_COMMIT = 100;

/** Creates the handler of due silences. */
export function createSilenceLooks(deps: ChangeDeps): WorkHandler {
  return {
    kind: "silence",
    async look(rows) {
      const [first] = rows;
      if (first === undefined) return [];
      let after: Deno.KvKey | null = null;
      do after = await tellSome(deps, first.team, rows, after); while (after !== null);
      return [];
    },
  };
}

/**
 * Sends what is no longer held back of some open incidents. The last commit removes the rows.
 *
 * @returns the key after which to continue; null at the end
 */
function tellSome(
  { store, changes }: ChangeDeps,
  team: TeamId,
  rows: readonly Work[],
  after: Deno.KvKey | null,
): Promise<Deno.KvKey | null> {
  return changes.changeInTurn(team, "clock", async () => {
    const range = rowsAfter(keys.openIncidents(team), after);
    const open = await listRows(store, range, { limit: INCIDENTS_PER_COMMIT });
    const ids = open.map(({ key }) => keyParts.id(key));
    const heldBack = (await readIncidents(store, team, ids)).filter((each) => each.isHeldBack);
    const looks = heldBack.map(({ rule, groupText }) => ({ rule, group: groupText, at: null }));
    const isLast = open.length < INCIDENTS_PER_COMMIT;
    const deletes = isLast ? rows.map(workKey) : [];
    return {
      result: isLast ? null : open.at(-1)?.key ?? null,
      rows: looks.length + deletes.length === 0
        ? null
        : { sets: [], deletes, alerts: { signals: [], looks } },
    };
  });
}
