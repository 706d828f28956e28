/**
 * Verifies that runs with unfinished work are due.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { isDead } from "../../domain/runs/stages.ts";
import { keyParts, keys } from "../base/keys.ts";
import { type ReadHead, readHead, type RunAt } from "../runs/heads.ts";
import { eachRow, type Store } from "../store.ts";
import { pendingName } from "../writer/pending_mark.ts";
import { type Mismatch, NONE } from "./mismatch.ts";

/** Returns whether a run awaits its checks or failed, and its work is not given up. */
export function hasWork({ summary, failure }: Pick<ReadHead, "summary" | "failure">): boolean {
  return failure === null ? summary?.awaitsChecks === true : !isDead(failure);
}

/** Reads the names of all runs that are due. Read them after the runs: a retry moves a row on. */
export async function readDueNames(store: Store): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const { key } of eachRow(store, { prefix: keys.dueStages() })) {
    names.add(pendingName(keyParts.dueTeam(key), keyParts.run(key)));
  }
  return names;
}

/**
 * Returns the runs that wait in vain. A run is read again: its work may have ended meanwhile.
 *
 * @param waiting runs that had work
 * @param due names of runs that are due
 */
export async function verifyWork(
  store: Store,
  team: TeamId,
  waiting: readonly RunId[],
  due: ReadonlySet<string>,
): Promise<readonly Mismatch[]> {
  const mismatches: Mismatch[] = [];
  for (const id of waiting) {
    if (due.has(pendingName(team, id))) continue;
    const at: RunAt = { store, team, id };
    if (!hasWork(await readHead(at))) continue;
    mismatches.push({ what: `work of ${id}`, expected: "a row of its due time", found: NONE });
  }
  return mismatches;
}
