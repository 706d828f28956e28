/** Stages after a close: order, retries, and giving up without delaying others. */
import { assert, assertEquals } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { ProcessingStore } from "../../../domain/runs/processing.ts";
import { type Stage, STAGE_ATTEMPTS_MAX, STAGE_BACKOFF_MS } from "../../../domain/runs/stages.ts";
import type { RunnableStage } from "../../../domain/runs/processing.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aCall, finish, open, run, TEAM } from "../../support/builders/stored_runs.ts";
import { Gate, WorkerHarness } from "../../support/harness/worker_harness.ts";

/** A store that cannot aggregate one run while `broken` returns true. */
function breaking(bad: RunId, broken: () => boolean) {
  return (store: ProcessingStore): ProcessingStore => ({
    ...store,
    project: (team, runs) =>
      broken() && runs.includes(bad)
        ? Promise.reject(new RangeError("this run is broken"))
        : store.project(team, runs),
  });
}

/** All stages after the cost, each with work for every run. */
function stagesOf(work: (stage: Stage, run: RunId) => Promise<void> | void): RunnableStage[] {
  return (["judge", "checks", "alerts"] as const).map((name) => ({
    name,
    applies: () => true,
    run: async ({ run }) => void await work(name, run),
  }));
}

Deno.test("cost: a run that cannot be aggregated does not delay the others of its batch", async () => {
  await using shop = await WorkerHarness.open({ wrap: breaking(run(3), () => true) });
  await Promise.all([1, 2, 3, 4, 5].map((n) => finish(shop.runs, n)));
  assertEquals((await shop.temp.keysBelow(["dirty"])).length < 5, true, "they share a row");
  shop.worker.start();
  await shop.worker.idle();
  for (const n of [1, 2, 4, 5]) {
    assertEquals(await shop.stagesOf(run(n)), ["cost done 1", ...shop.skipped]);
  }
  assertEquals((await shop.stagesOf(run(3)))[0], "cost retrying 1");
  assertEquals(await shop.temp.keysBelow(["dirty"]), []);
  // The log has the team and the failure, but no run id.
  assert(shop.log.some((line) => line.includes(TEAM.id) && line.includes("this run is broken")));
  assert(!shop.log.join().includes("run_"), shop.log.join());
});

Deno.test("cost: it is retried with doubling backoff, given up after 8 attempts, and revived", async () => {
  let broken = true;
  await using shop = await WorkerHarness.open({ wrap: breaking(run(1), () => broken) });
  await open(shop.runs, 1);
  await finish(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  // Its opening and close are separate marks and were attempted immediately.
  const [first = ""] = await shop.stagesOf(run(1));
  let attempts = Number(first.split(" ").at(-1));
  assert(attempts >= 1 && attempts <= 2, first);
  for (; attempts < STAGE_ATTEMPTS_MAX; attempts++) {
    const pauseMs = STAGE_BACKOFF_MS * 2 ** (attempts - 1);
    await shop.after(pauseMs - 1);
    assertEquals((await shop.stagesOf(run(1)))[0], `cost retrying ${attempts}`, "too early");
    await shop.after(1);
  }
  assertEquals((await shop.stagesOf(run(1)))[0], "cost dead 8");
  const dead = await Array.fromAsync(shop.pipeline.deadStages());
  assertEquals(dead.map(({ team, run, stage }) => [team, run, stage.stage, stage.error]), [
    [TEAM.id, run(1), "cost", "RangeError: this run is broken"],
  ]);
  await shop.after(86_400_000);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost dead 8", "a dead stage was tried");

  broken = false;
  assertEquals(await shop.pipeline.revive({ team: TEAM.id, run: run(2) }), false);
  assertEquals(await shop.pipeline.revive({ team: TEAM.id, run: run(1) }), true);
  await shop.worker.idle();
  assertEquals(await shop.stagesOf(run(1)), ["cost done 1", ...shop.skipped]);
  assertEquals(await Array.fromAsync(shop.pipeline.deadStages()), []);
  assertEquals(await shop.pipeline.revive({ team: TEAM.id, run: run(1) }), false);
  assertEquals(await shop.sumsAddUp(), 1);
  assertEquals(await shop.temp.keysBelow(["due_stage"]), []);
});

Deno.test("cost: a revived stage has all its attempts again", async () => {
  await using shop = await WorkerHarness.open({ wrap: breaking(run(1), () => true) });
  await finish(shop.runs, 1);
  shop.worker.start();
  for (let i = 0; i < STAGE_ATTEMPTS_MAX; i++) await shop.after(STAGE_BACKOFF_MS * 2 ** i);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost dead 8");
  await shop.pipeline.revive({ team: TEAM.id, run: run(1) });
  await shop.after(0);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 1");
});

Deno.test("cost: new data for a failing run does not shorten its backoff", async () => {
  await using shop = await WorkerHarness.open({ wrap: breaking(run(1), () => true) });
  await finish(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 1");
  shop.nowMs += STAGE_BACKOFF_MS / 2;
  await shop.runs.append(TEAM, run(1), [aCall(1)], NOON);
  await shop.worker.idle();
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 2");
  // When the first backoff would have ended, the second has not.
  await shop.after(STAGE_BACKOFF_MS);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 2");
  await shop.after(STAGE_BACKOFF_MS);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 3");
});

Deno.test("stages: cost, checks, alerts and judge run in sequence, each once", async () => {
  const ran: string[] = [];
  await using shop = await WorkerHarness.open({
    stages: stagesOf(async (stage, id) => {
      // The cost and every earlier stage are already final.
      const before = (await shop.stagesOf(id)).filter((text) => text.includes("done")).length;
      ran.push(`${stage} after ${before}`);
    }),
  });
  await open(shop.runs, 1);
  await finish(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  assertEquals(ran, ["checks after 1", "alerts after 2", "judge after 3"]);
  assertEquals(
    await shop.stagesOf(run(1)),
    ["cost", "checks", "alerts", "judge"].map((stage) => `${stage} done 1`),
  );
  await shop.after(86_400_000);
  assertEquals(ran.length, 3);
  assertEquals(await shop.temp.keysBelow(["due_stage"]), []);
});

Deno.test("stages: none runs before the close, also after the cost failed once", async () => {
  let broken = true;
  const ran: string[] = [];
  await using shop = await WorkerHarness.open({
    wrap: breaking(run(1), () => broken),
    stages: stagesOf((stage) => void ran.push(stage)),
  });
  await open(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  broken = false;
  await shop.after(STAGE_BACKOFF_MS);
  await shop.after(86_400_000);
  assertEquals([ran, await shop.stagesOf(run(1))], [[], []]);
  await finish(shop.runs, 1);
  await shop.worker.idle();
  assertEquals(ran, ["checks", "alerts", "judge"]);
});

Deno.test("stages: a failing stage is retried, later stages wait, other runs do not", async () => {
  let failures = 2;
  const ran: string[] = [];
  await using shop = await WorkerHarness.open({
    stages: stagesOf((stage, id) => {
      ran.push(`${stage} ${Number(id.slice(-1))}`);
      if (id === run(1) && stage === "alerts" && failures-- > 0) throw new TypeError("no answer");
    }),
  });
  await finish(shop.runs, 1);
  await finish(shop.runs, 2);
  shop.worker.start();
  await shop.worker.idle();
  assertEquals(await shop.stagesOf(run(1)), [
    "cost done 1",
    "checks done 1",
    "alerts retrying 1",
    "judge pending 0",
  ]);
  assertEquals((await shop.stagesOf(run(2))).at(-1), "judge done 1");
  const stages = (await shop.runs.read(TEAM, run(1), null, 1))?.processing?.stages;
  assertEquals(stages?.[2]?.error, "TypeError: no answer");
  await shop.after(STAGE_BACKOFF_MS);
  await shop.after(2 * STAGE_BACKOFF_MS);
  assertEquals((await shop.stagesOf(run(1))).slice(1), [
    "checks done 1",
    "alerts done 3",
    "judge done 1",
  ]);
  const ofOne = ran.filter((text) => text.endsWith("1"));
  assertEquals(ofOne, ["checks 1", "alerts 1", "alerts 1", "alerts 1", "judge 1"]);
});

Deno.test("stages: a handler that fails because of the store uses up no attempt", async () => {
  let failures = 2;
  await using shop = await WorkerHarness.open({
    failurePauseMs: 1,
    wrap: (store) => ({ ...store, isAlive: () => Promise.resolve(failures < 0) }),
    stages: stagesOf(() => {
      if (failures-- > 0) throw new StorageUnavailable("disk I/O error");
    }),
  });
  await finish(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  assertEquals((await shop.stagesOf(run(1)))[1], "checks done 1");
});

Deno.test("stages: an unreadable stage is deferred, uses up no attempt, and the others continue", async () => {
  let broken = true;
  await using shop = await WorkerHarness.open({
    stages: stagesOf((stage, id) => {
      if (broken && stage === "checks" && id === run(1)) throw new StorageUnavailable("malformed");
    }),
  });
  await finish(shop.runs, 1);
  shop.worker.start();
  await shop.worker.idle();
  await finish(shop.runs, 2);
  await shop.worker.idle();
  const checksOf = async (n: number) => (await shop.stagesOf(run(n)))[1];
  assertEquals([await checksOf(1), await checksOf(2)], ["checks pending 0", "checks done 1"]);
  assertEquals(shop.log.filter((line) => line.includes("is postponed")).length, 3);
  assert(!shop.log.join().includes("run_"), shop.log.join());
  broken = false;
  await shop.after(1_000);
  assertEquals(await checksOf(1), "checks done 1");
});

Deno.test("stages: a new revision of the cost restarts them, also a dead one", async () => {
  let broken = true;
  const ran: string[] = [];
  await using shop = await WorkerHarness.open({
    stages: stagesOf((stage) => {
      ran.push(stage);
      if (stage === "alerts" && broken) throw new Error("");
    }),
  });
  await finish(shop.runs, 1);
  shop.worker.start();
  for (let i = 0; i < STAGE_ATTEMPTS_MAX; i++) await shop.after(STAGE_BACKOFF_MS * 2 ** i);
  assertEquals(await shop.stagesOf(run(1)), [
    "cost done 1",
    "checks done 1",
    "alerts dead 8",
    "judge pending 0",
  ]);
  const [dead] = await Array.fromAsync(shop.pipeline.deadStages());
  assertEquals(dead?.stage.stage, "alerts");
  broken = false;
  ran.length = 0;
  await shop.runs.append(TEAM, run(1), [aCall(1)], NOON);
  await shop.worker.idle();
  assertEquals(ran, ["checks", "alerts", "judge"]);
  assertEquals((await shop.stagesOf(run(1))).at(-1), "judge done 1");
  assertEquals(await Array.fromAsync(shop.pipeline.deadStages()), []);
});

for (const outcome of ["success", "failure"] as const) {
  Deno.test(`stages: the ${outcome} of a stage started before a new revision does not count for it`, async () => {
    const gate = new Gate();
    let initialBytes = 0;
    await using shop = await WorkerHarness.open({
      stages: stagesOf(async (stage) => {
        if (stage !== "checks" || ++initialBytes > 1) return;
        await gate.pass();
        if (outcome === "failure") throw new Error("about the old revision");
      }),
    });
    await finish(shop.runs, 1);
    shop.worker.start();
    await gate.reached();
    // Another worker aggregates a late batch in the same millisecond.
    await shop.runs.append(TEAM, run(1), [aCall(1)], NOON);
    await shop.pipeline.project(TEAM.id, [run(1)]);
    gate.open();
    await shop.worker.idle();
    const stored = await shop.runs.read(TEAM, run(1), null, 1);
    assertEquals([initialBytes, stored?.processing?.revision], [2, 2]);
    assertEquals((await shop.stagesOf(run(1)))[1], "checks done 1");
  });
}

Deno.test("stages: one that does not apply is skipped in the commit of the summary, without a row", async () => {
  const worked: RunId[] = [];
  const checks: RunnableStage = {
    name: "checks",
    applies: (team, { contribution }) =>
      Promise.resolve(team === TEAM.id && contribution?.labels.status === "failed"),
    run: ({ run }) => Promise.resolve(void worked.push(run)),
  };
  await using shop = await WorkerHarness.open({ stages: [checks] });
  for (const n of [1, 2]) await open(shop.runs, n);
  await finish(shop.runs, 1);
  const failed = { status: "failed", finishedAt: NOON } as const;
  await shop.runs.finish(TEAM, run(2), failed, NOON);
  shop.worker.start();
  await shop.worker.idle();
  assertEquals(worked, [run(2)]);
  assertEquals(await shop.stagesOf(run(1)), ["cost done 1", ...shop.skipped]);
  assertEquals((await shop.stagesOf(run(2)))[1], "checks done 1");
  const rows = await shop.temp.keysBelow(["run"]);
  assertEquals(rows.filter((key) => key[3] === "processing").map((key) => key[1]), [run(2)]);
});

Deno.test("stages: while one takes long, the worker updates other runs, and its stop waits for it", async () => {
  const gate = new Gate();
  let ended = 0;
  const stages = stagesOf(async (stage) => {
    if (stage === "checks" && ended === 0) await gate.pass();
    ended++;
  });
  await using shop = await WorkerHarness.open({ stages });
  await finish(shop.runs, 1);
  shop.worker.start();
  await gate.reached();
  await finish(shop.runs, 2);
  await shop.settled(run(2));
  assertEquals(ended, 0);
  const stopped = shop.worker.stop();
  gate.open();
  await stopped;
  assert(ended > 0);
  assertEquals((await shop.stagesOf(run(1)))[1], "checks done 1");
});
