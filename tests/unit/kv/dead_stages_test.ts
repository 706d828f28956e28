/** Dead stages of one team, as shown to people. */
import { assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { DEAD_STAGES_LISTED_MAX } from "../../../domain/runs/stages.ts";
import { createDeadStageStore } from "../../../kv/runs/run_work.ts";
import { processingStoreOf, run, TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const OTHER: Team = { ...TEAM, id: "other" as TeamId };

/** Fails the cost of run number `n` until it is given up. */
async function kill(temp: TempStore, n: number, team: Team = TEAM): Promise<void> {
  const pipeline = processingStoreOf(temp.store);
  for (let tries = 0; tries < 8; tries++) {
    await pipeline.projectFailed({ team: team.id, run: run(n) }, new Error(`no price for ${n}`));
  }
}

TempStore.test("a team sees its own dead stages with their errors, and no other team's", async (temp) => {
  const dead = createDeadStageStore(temp.store);
  assertEquals(await dead.ofTeam(TEAM), { stages: [], hasMore: false });
  await kill(temp, 1);
  await kill(temp, 2, OTHER);
  const { stages, hasMore } = await dead.ofTeam(TEAM);
  const reported = stages.map((
    { team, run, failure: { work, tries } },
  ) => [team, run, work, tries]);
  assertEquals(reported, [[TEAM.id, run(1), "cost", 8]]);
  assertEquals([stages[0]?.failure.error, hasMore], ["Error: no price for 1", false]);
});

TempStore.test("of many dead stages a few are listed, with a note that there are more", async (temp) => {
  const dead = createDeadStageStore(temp.store);
  for (let n = 1; n <= DEAD_STAGES_LISTED_MAX; n++) await kill(temp, n);
  const all = await dead.ofTeam(TEAM);
  assertEquals([all.stages.length, all.hasMore], [DEAD_STAGES_LISTED_MAX, false]);
  await kill(temp, DEAD_STAGES_LISTED_MAX + 1);
  const subset = await dead.ofTeam(TEAM);
  assertEquals([subset.stages.length, subset.hasMore], [DEAD_STAGES_LISTED_MAX, true]);
});
