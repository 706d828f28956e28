/** Turns of jobs: no team starves another, whatever it creates and whatever fails. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { ACTIVE_JOBS_MAX } from "../../../domain/core/jobs.ts";
import { JobTurns } from "../../../kv/job_queue.ts";
import { keys } from "../../../kv/base/keys.ts";
import { RetentionHarness } from "../../support/harness/retention_harness.ts";
import { NOON } from "../../support/harness/harness.ts";
import { startedJob } from "../../support/builders/jobs.ts";
import { TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const [A, B] = ["a", "b"].map((id) => ({ ...TEAM, id: id as TeamId })) as [
  typeof TEAM,
  typeof TEAM,
];

/** Turns over jobs of teams whose steps are scripted. */
async function turnsOver(
  temp: TempStore,
  jobs: readonly [TeamId, string][],
  step: (team: TeamId, id: string) => Promise<boolean>,
  now = () => NOON,
): Promise<JobTurns> {
  const sets = jobs.map(([team, id]) => ({
    key: keys.activeJob("deletion", team, id),
    value: true,
  }));
  await temp.store.writer.commit({ sets });
  return new JobTurns(temp.store, keys.activeJobs("deletion"), now, step);
}

Deno.test("jobs: a team that constantly creates jobs does not starve another's", async () => {
  await using temp = await TempStore.open();
  const archive = new RetentionHarness(temp.store);
  const { deletions } = archive;
  let requestCount = 0;
  const sendRequest = async () => {
    while ((await deletions.deleteCustomer(A, `c${requestCount++}`, "key")).kind === "stored");
  };
  await sendRequest();
  assertEquals((await temp.keysBelow(keys.activeJobs("deletion", A.id))).length, ACTIVE_JOBS_MAX);
  const { job } = startedJob(await deletions.deleteCustomer(B, "acme", "key"));
  let steps = 0;
  while ((await deletions.get(B, job.id))?.state !== "done") {
    await sendRequest();
    assert(await deletions.work());
    assert(++steps < 10, "the other team's job does not come on");
  }
});

Deno.test("jobs: teams take turns, and so do the jobs within a team", async () => {
  await using temp = await TempStore.open();
  const steps: string[] = [];
  const turns = await turnsOver(temp, [[A.id, "1"], [A.id, "2"], [B.id, "3"]], (team, id) => {
    steps.push(team + id);
    return Promise.resolve(true);
  });
  for (let n = 0; n < 8; n++) assert(await turns.work());
  assertEquals(steps, ["a1", "b3", "a2", "b3", "a1", "b3", "a2", "b3"]);
});

Deno.test("jobs: waiting jobs are skipped, and only waiting jobs means nothing to do", async () => {
  await using temp = await TempStore.open();
  const teams = Array.from(
    { length: 25 },
    (_, n): [TeamId, string] => [`t${n + 10}` as TeamId, "1"],
  );
  let steps = 0;
  const turns = await turnsOver(temp, [...teams, ["z" as TeamId, "1"]], (team) => {
    steps++;
    return Promise.resolve(team === "z" && steps < 50);
  });
  while (await turns.work()) assert(steps < 200, "it never rests");
  assert(steps >= 26 && turns.hasActiveJobs);
});

Deno.test("jobs: a failing job is deferred, and the others continue", async () => {
  await using temp = await TempStore.open();
  const steps: string[] = [];
  let nowMs = NOON;
  const step = (_: TeamId, id: string) => {
    steps.push(id);
    return id === "1" ? Promise.reject(new StorageUnavailable("malformed")) : Promise.resolve(true);
  };
  const turns = await turnsOver(temp, [[A.id, "1"], [B.id, "2"]], step, () => nowMs);
  for (let n = 0; n < 3; n++) {
    await assertRejects(() => turns.work(), StorageUnavailable);
    assert(await turns.work());
  }
  for (let n = 0; n < 3; n++) assert(await turns.work());
  assertEquals(steps.join(""), "121212222");
  nowMs += 1_000;
  await assertRejects(() => turns.work(), StorageUnavailable);
});
