/** Jobs of teams in the work queue: turns, waits, failures, and requests at the same time. */
import { assert, assertEquals } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { ACTIVE_JOBS_MAX, type TeamJob } from "../../../domain/core/jobs.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { keys, newRowName } from "../../../kv/base/keys.ts";
import { createTeamJobs, type JobStep } from "../../../kv/runs/team_jobs.ts";
import { nullIfRefused } from "../../../domain/core/errors.ts";
import { getValue } from "../../../kv/store.ts";
import { createWorkStore } from "../../../kv/work/store.ts";
import { open, run, runsOf, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const [A, B] = ["a", "b"] as [TeamId, TeamId];

/** Jobs with scripted steps, in one loop over a clock that goes on with each reading. */
class JobsHarness {
  nowMs = NOON;
  readonly log: string[] = [];
  readonly loop: WorkLoop;
  readonly jobs: ReturnType<typeof createTeamJobs<TeamJob>>;

  constructor(
    readonly temp: TempStore,
    step: (step: JobStep<TeamJob>) => Promise<void>,
    readonly untilProjected = () => Promise.resolve(),
    turnMs = 0,
  ) {
    const now = () => this.nowMs++;
    const deps = { store: temp.store, now, untilProjected, turnMs };
    this.jobs = createTeamJobs<TeamJob>(deps, "deletion", step);
    this.loop = new WorkLoop({
      store: createWorkStore(temp.store, Infinity),
      handlers: [this.jobs.handler],
      lanes: ["back"],
      now,
      log: (line) => this.log.push(line),
    });
  }

  /** Requests a job; a job with the same author is the same one. */
  add(team: TeamId, createdBy: string) {
    const job = {
      id: newRowName(),
      state: "waiting",
      createdAt: this.nowMs,
      createdBy,
      finishedAt: null,
      failed: 0,
    } as const;
    const isSame = (other: TeamJob) => other.createdBy === createdBy && other.state !== "done";
    return this.jobs.add(team, isSame, () => Promise.resolve({ job, write: {} }));
  }

  /** Returns the identifiers of a team's jobs in progress. */
  active(team: TeamId): Promise<readonly string[] | null> {
    return getValue(this.temp.store, keys.jobs("deletion", team));
  }
}

function end({ job, commit }: JobStep<TeamJob>): Promise<boolean> {
  return commit({ ...job, state: "done", finishedAt: NOON });
}

TempStore.test("jobs: teams take turns, and so do the jobs of a team", async (temp) => {
  const steps: string[] = [];
  const left = new Map([["1", 3], ["2", 3], ["3", 3]]);
  const h = new JobsHarness(temp, async (step) => {
    const { team, job } = step;
    const name = job.createdBy;
    steps.push(team + name);
    const more = (left.get(name) ?? 0) - 1;
    left.set(name, more);
    if (more === 0) await end(step);
  });
  for (const [team, name] of [[A, "1"], [A, "2"], [B, "3"]] as const) await h.add(team, name);
  while (left.values().some((more) => more > 0)) await h.loop.round();
  assertEquals(steps.filter((step) => step.startsWith("a")).join(" "), "a1 a2 a1 a2 a1 a2");
  assert(steps.slice(0, 8).filter((step) => step === "b3").length === 3, steps.join(" "));
  assertEquals(await temp.keysBelow(keys.work()), []);
  assertEquals([await h.active(A), await h.active(B)], [[], []]);
});

TempStore.test("jobs: a team that constantly creates jobs does not starve another's", async (temp) => {
  let [requests, steps] = [0, 0];
  const h = new JobsHarness(temp, async (step) => {
    steps++;
    if (step.team === B || steps % 2 === 0) await end(step);
    await fill();
  });
  const fill = async () => {
    while (await h.add(A, `${requests++}`).catch(nullIfRefused) !== null);
  };
  await fill();
  assertEquals((await h.active(A))?.length, ACTIVE_JOBS_MAX);
  const { job } = await h.add(B, "theirs");
  h.loop.start();
  const done = await h.jobs.waitUntilDone({ id: B }, job, 10_000);
  await h.loop.stop();
  assertEquals(done.state, "done");
  assert(steps < 20, `${steps} steps before the other team's job was done`);
});

TempStore.test("jobs: one turn takes steps until its time is over, and the last one ends it", async (temp) => {
  let steps = 0;
  const h = new JobsHarness(
    temp,
    async (step) => {
      if (++steps === 5) await end(step);
    },
    () => Promise.resolve(),
    60_000,
  );
  await h.add(A, "1");
  await h.loop.round();
  assertEquals([steps, await temp.keysBelow(keys.work())], [5, []]);
});

TempStore.test("jobs: a job whose runs the projector postponed is tried again a second later", async (temp) => {
  const runs = runsOf(temp.store);
  await open(runs, 1);
  let asked = 0;
  const h = new JobsHarness(temp, (step) => end(step).then(() => {}), () => {
    asked++;
    return Promise.resolve();
  });
  const { job } = await h.add(TEAM.id, "1");
  const stateOf = async () => (await h.jobs.get(TEAM, job.id))?.state;
  for (let n = 0; n < 3; n++) await h.loop.round();
  assertEquals([asked, await stateOf()], [1, "waiting"]);
  h.nowMs += 1_000;
  await h.loop.round();
  assertEquals([asked, await stateOf()], [2, "waiting"]);
  // Another run of the team arrives later, and does not hold it up.
  await open(runs, 2);
  const [mark] = await temp.keysBelow(["dirty"]);
  assert(mark !== undefined);
  await temp.store.writer.commit({ deletes: [mark] });
  h.nowMs += 1_000;
  await h.loop.round();
  assertEquals([asked, await stateOf()], [2, "done"], run(1));
});

TempStore.test("jobs: a job waits for the projector while it works, and goes on at once", async (temp) => {
  await open(runsOf(temp.store), 1);
  const projecting = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const h = new JobsHarness(temp, (step) => end(step).then(() => {}), () => {
    asked.resolve();
    return projecting.promise;
  });
  const { job } = await h.add(TEAM.id, "1");
  const round = h.loop.round();
  await asked.promise;
  await temp.store.writer.commit({ deletes: await temp.keysBelow(["dirty"]) });
  projecting.resolve();
  await round;
  assertEquals((await h.jobs.get(TEAM, job.id))?.state, "done");
});

TempStore.test("jobs: a failing job is postponed with growing waits, and others continue", async (temp) => {
  const steps: string[] = [];
  const h = new JobsHarness(temp, async (step) => {
    steps.push(step.job.createdBy);
    if (step.job.createdBy === "bad") throw new StorageUnavailable("malformed");
    await end(step);
  });
  await h.add(A, "bad");
  await h.add(B, "good");
  for (let n = 0; n < 5; n++) await h.loop.round();
  const tries = () => steps.filter((name) => name === "bad").length;
  assertEquals([tries(), steps.includes("good")], [3, true]);
  assertEquals(h.log.length, 1, "only the first failure is logged");
  h.nowMs += 1_000;
  await h.loop.round();
  await h.loop.round();
  assertEquals(tries(), 4);
  h.nowMs += 1_000;
  await h.loop.round();
  assertEquals(tries(), 4, "the second wait is longer");
  assertEquals((await h.active(A))?.length, 1);
});

TempStore.test("jobs: the row of a job that is done or gone leaves the queue", async (temp) => {
  const h = new JobsHarness(temp, () => Promise.reject(new Error("no step")));
  const { job } = await h.add(A, "1");
  await temp.store.writer.commit({ deletes: [keys.job("deletion", A, job.id)] });
  await h.loop.round();
  assertEquals([await temp.keysBelow(keys.work()), h.log], [[], []]);
});
