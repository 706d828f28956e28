/**
 * Reads the openings, closes and scores of many runs.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import type { RunParts, Score } from "../../domain/runs/run.ts";
import type { AddedScore } from "../../domain/runs/scores.ts";
import { keys } from "../base/keys.ts";
import { listRows } from "../store.ts";
import type { HeadRows } from "./head_rows.ts";
import { readParts, type TeamAt } from "./heads.ts";

/**
 * Decodes the parts of runs one after the other, so that one run's output at a time takes memory.
 *
 * @param rows rows of the runs
 * @param hasScores true to read the scores that were added to them too
 */
export async function readManyParts(
  at: TeamAt,
  rows: ReadonlyMap<RunId, HeadRows>,
  hasScores: boolean,
  visit: (id: RunId, parts: RunParts, addedScores: readonly Score[]) => void,
): Promise<void> {
  const { store, team } = at;
  for (const [id, parts] of rows) {
    const [opening, closing] = [parts.get("opening")?.value, parts.get("closing")?.value];
    if (opening === undefined && closing === undefined) continue;
    const scores = hasScores
      ? await listRows<AddedScore>(store, { prefix: keys.scores(team, id) })
      : [];
    visit(
      id,
      await readParts({ ...at, id }, opening, closing),
      scores.map(({ value: { name, value } }) => [name, value]),
    );
  }
}
