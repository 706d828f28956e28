/**
 * Lists the dead stages of one team's runs.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  DEAD_STAGES_LISTED_MAX,
  type DeadStageStore,
  type TeamDeadStages,
} from "../../domain/runs/processing.ts";
import type { Processing } from "../../domain/runs/stages.ts";
import { keys } from "../base/keys.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { deadOf } from "./stages.ts";

/** Creates the store of dead stages. */
export function createDeadStageStore(store: Store): DeadStageStore {
  return { ofTeam: (team) => store.reads.run(team.id, () => readDead(store, team.id)) };
}

async function readDead(store: Store, team: TeamId): Promise<TeamDeadStages> {
  // One more than listed, to detect further ones.
  const options = { limit: DEAD_STAGES_LISTED_MAX + 1 };
  const rows = await listRows(store, { prefix: keys.deadStagesOf(team) }, options);
  const runs = rows.slice(0, DEAD_STAGES_LISTED_MAX).map(({ key }) => key[2] as RunId);
  if (runs.length === 0) return { stages: [], hasMore: false };
  const entries = await getMany(store, runs.map((run) => keys.processing(team, run)));
  const stages = runs.flatMap((run, i) => {
    const processing = (entries[i]?.value ?? null) as Processing | null;
    const stage = processing && deadOf(processing);
    // The stage was revived after the rows were read.
    return stage === null ? [] : [{ team, run, stage }];
  });
  return { stages, hasMore: rows.length > DEAD_STAGES_LISTED_MAX };
}
