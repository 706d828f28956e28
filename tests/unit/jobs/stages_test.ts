/** Checks that are judged later: retries, and giving up without delaying others. */
import { RETRIES } from "../../../domain/work/work.ts";
import { assert, assertEquals } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { RunId, ScoreId } from "../../../domain/core/ids.ts";
import { type RunFailure } from "../../../domain/runs/stages.ts";
import { keys } from "../../../kv/base/keys.ts";
import { failedWork } from "../../../kv/runs/run_work.ts";
import { createScoreStore } from "../../../kv/runs/scores.ts";
import { aCheck, outcomesOf } from "../../support/builders/checks.ts";
import {
  aCall,
  finish,
  open,
  readRun,
  run,
  stagesOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { aTool } from "../../support/builders/judged_events.ts";
import { AlertProcess } from "../../support/harness/alert_process.ts";
import { NOON } from "../../support/harness/harness.ts";
import { breaking, Gate, WorkerHarness } from "../../support/harness/worker_harness.ts";

/** Sets up a check that must read the events of a run. */
async function putLoopCheck({ store }: WorkerHarness): Promise<void> {
  await new AlertProcess(store).put("check", "loop", aCheck("longest_repeat.times < 3"));
}

/** Opens and finishes run number `n`, with two tool calls. */
async function closeWithTools({ runs }: WorkerHarness, n: number): Promise<void> {
  await open(runs, n);
  await runs.append(TEAM, run(n), [aTool(1, "look"), aTool(2, "look")], NOON);
  await finish(runs, n);
}

async function checksOf(shop: WorkerHarness, n: number): Promise<string | undefined> {
  return (await shop.stagesOf(run(n)))[1];
}

/** Lets a worker try until it has given up. */
async function untilDead(shop: WorkerHarness): Promise<void> {
  for (let i = 0; i < RETRIES.run.triesMax; i++) await shop.after(RETRIES.run.firstMs * 2 ** i);
}

/** Opens a worker that has given up the checks of run 1. */
async function openGivenUp(fault: { readonly isMended: boolean }): Promise<WorkerHarness> {
  const shop = await WorkerHarness.open({
    judge: (_, judge) => fault.isMended ? judge() : Promise.reject(new Error("")),
  });
  await putLoopCheck(shop);
  await closeWithTools(shop, 1);
  shop.start();
  await untilDead(shop);
  return shop;
}

async function noWork({ temp }: WorkerHarness): Promise<void> {
  for (const family of [["work", "run"], ["failed"], ["dirty"]]) {
    assertEquals(await temp.keysBelow(family), []);
  }
}

Deno.test("checks: a run is judged once after its cost, and leaves no row of work", async () => {
  const states: string[] = [];
  await using shop = await WorkerHarness.open({
    judge: async (id, judge) => {
      states.push(...await shop.stagesOf(id));
      await judge();
    },
  });
  await putLoopCheck(shop);
  await closeWithTools(shop, 1);
  shop.start();
  await shop.idle();
  const [, ...others] = shop.skipped;
  assertEquals(states, ["cost done 1", "checks pending 0", ...others]);
  assertEquals(await shop.stagesOf(run(1)), ["cost done 1", "checks done 1", ...others]);
  assertEquals(await outcomesOf(shop.store, 1), ["loop pass"]);
  await noWork(shop);
  await shop.after(86_400_000);
  assertEquals(states.length, 4);
});

Deno.test("checks: none judges before the close, also after the cost failed once", async () => {
  let broken = true;
  const judged: RunId[] = [];
  await using shop = await WorkerHarness.open({
    wrap: breaking(run(1), () => broken),
    judge: (id, judge) => {
      judged.push(id);
      return judge();
    },
  });
  await putLoopCheck(shop);
  await open(shop.runs, 1);
  shop.start();
  await shop.idle();
  assertEquals((await shop.temp.keysBelow(["failed"])).length, 1);
  broken = false;
  await shop.after(RETRIES.run.firstMs);
  await shop.after(86_400_000);
  assertEquals([judged, await shop.stagesOf(run(1))], [[], []]);
  await noWork(shop);
  await shop.runs.append(TEAM, run(1), [aTool(1, "look"), aTool(2, "look")], NOON);
  await finish(shop.runs, 1);
  await shop.idle();
  assertEquals(judged, [run(1)]);
});

Deno.test("checks: a run that fails is retried, and others do not wait", async () => {
  let failures = 2;
  const ran: RunId[] = [];
  await using shop = await WorkerHarness.open({
    judge: async (id, judge) => {
      ran.push(id);
      if (id === run(1) && failures-- > 0) throw new TypeError("no answer");
      await judge();
    },
  });
  await putLoopCheck(shop);
  await closeWithTools(shop, 1);
  await closeWithTools(shop, 2);
  shop.start();
  await shop.idle();
  assertEquals(await checksOf(shop, 1), "checks retrying 1");
  assertEquals(await checksOf(shop, 2), "checks done 1");
  assertEquals((await stagesOf(shop.store, 1))[1]?.error, "TypeError: no answer");
  await shop.after(RETRIES.run.firstMs - 1);
  assertEquals(await checksOf(shop, 1), "checks retrying 1", "too early");
  await shop.after(1);
  assertEquals(await checksOf(shop, 1), "checks retrying 2");
  await shop.after(2 * RETRIES.run.firstMs);
  assertEquals(await checksOf(shop, 1), "checks done 1");
  assertEquals(ran.filter((id) => id === run(1)).length, 3);
  await noWork(shop);
});

Deno.test("checks: a failure of the store uses up no attempt", async () => {
  let failures = 2;
  await using shop = await WorkerHarness.open({
    judge: (_, judge) =>
      failures-- > 0 ? Promise.reject(new StorageUnavailable("disk I/O error")) : judge(),
    work: { isAlive: () => Promise.resolve(failures < 0) },
  });
  await putLoopCheck(shop);
  await closeWithTools(shop, 1);
  shop.start();
  await shop.idle();
  assertEquals(await checksOf(shop, 1), "checks done 1");
  assertEquals(await shop.temp.keysBelow(["failed"]), [], "it used up an attempt");
  assert(failures < 0);
});

Deno.test("checks: an unreadable run is postponed, uses up no attempt, and the others continue", async () => {
  let broken = true;
  await using shop = await WorkerHarness.open({
    judge: (id, judge) =>
      broken && id === run(1) ? Promise.reject(new StorageUnavailable("malformed")) : judge(),
  });
  await putLoopCheck(shop);
  await closeWithTools(shop, 1);
  shop.start();
  await shop.idle();
  await closeWithTools(shop, 2);
  await shop.idle();
  assertEquals(await checksOf(shop, 1), "checks pending 0");
  assertEquals(await checksOf(shop, 2), "checks done 1");
  assertEquals(shop.log.filter((line) => line.includes("was postponed")).length, 1);
  assert(!/run_eu_/.test(shop.log.join()), shop.log.join());
  broken = false;
  await shop.after(60_000);
  assertEquals(await checksOf(shop, 1), "checks done 1");
});

Deno.test("checks: a new revision of the cost judges again, also what was given up", async () => {
  const fault = { isMended: false };
  await using shop = await openGivenUp(fault);
  assertEquals(await checksOf(shop, 1), "checks dead 8");
  const [dead] = await Array.fromAsync(failedWork(shop.store));
  assertEquals(dead?.kind, "checks");
  fault.isMended = true;
  await shop.after(86_400_000);
  assertEquals(await checksOf(shop, 1), "checks dead 8", "dead work was tried");
  await shop.runs.append(TEAM, run(1), [aCall(3)], NOON);
  await shop.idle();
  assertEquals(await checksOf(shop, 1), "checks done 1");
  await noWork(shop);
});

for (const isGivenUp of [false, true]) {
  const title = isGivenUp ? "was given up" : "waits";
  Deno.test(`checks: what ${title} is judged, also if a score cannot be aggregated at first`, async () => {
    let [isBroken, isScoreBroken] = [true, false];
    await using shop = await WorkerHarness.open({
      wrap: breaking(run(1), () => isScoreBroken),
      judge: (_, judge) => isBroken ? Promise.reject(new Error("")) : judge(),
    });
    await putLoopCheck(shop);
    await closeWithTools(shop, 1);
    shop.start();
    if (isGivenUp) await untilDead(shop);
    else await shop.idle();
    isScoreBroken = true;
    const score = { id: "scr_eu_1" as ScoreId, name: "quality", value: 1, source: "api" };
    await createScoreStore(shop.store).add(TEAM, run(1), score, NOON + 5);
    await shop.idle();
    const key = keys.runFailure(TEAM.id, run(1));
    assertEquals((await shop.store.reader.get<RunFailure>(key)).value?.work, "cost");
    [isBroken, isScoreBroken] = [false, false];
    await shop.after(RETRIES.run.firstMs);
    await shop.idle();
    assertEquals(await checksOf(shop, 1), "checks done 1");
    await shop.after(86_400_000);
    await noWork(shop);
  });
}

for (
  const [outcome, ms] of [["success", 0], ["success", 5], ["failure", 0], ["failure", 5]] as const
) {
  Deno.test(`checks: the ${outcome} of work begun ${ms} ms before a new revision does not count for it`, async () => {
    const gate = new Gate();
    let begun = 0;
    await using shop = await WorkerHarness.open({
      judge: async (_, judge) => {
        if (++begun > 1) return await judge();
        await gate.pass();
        if (outcome === "failure") throw new Error("about the old revision");
      },
    });
    await putLoopCheck(shop);
    await closeWithTools(shop, 1);
    shop.start();
    await gate.reached();
    // Another worker aggregates a late batch.
    shop.nowMs += ms;
    await shop.runs.append(TEAM, run(1), [aCall(3)], NOON);
    await shop.pipeline.project(TEAM.id, [run(1)]);
    gate.open();
    await shop.idle();
    const stored = await readRun(shop.runs, TEAM, run(1), null, 1);
    assertEquals(stored?.summary?.revision, 2);
    // The row of the old revision may try once more.
    assert(begun >= 2);
    assertEquals(await checksOf(shop, 1), "checks done 1");
    await noWork(shop);
  });
}

Deno.test("checks: a run that none applies to leaves no row of work", async () => {
  await using shop = await WorkerHarness.open({
    judge: () => Promise.reject(new Error("it was judged later")),
  });
  const { store } = shop;
  const failed = aCheck("longest_repeat.times < 3", { statuses: ["failed"] });
  await new AlertProcess(store).put("check", "loop", failed);
  await closeWithTools(shop, 1);
  shop.start();
  await shop.idle();
  assertEquals(await shop.stagesOf(run(1)), ["cost done 1", ...shop.skipped]);
  await noWork(shop);
});

Deno.test("checks: while they take long, the worker updates other runs, and its stop waits", async () => {
  const gate = new Gate();
  let ended = 0;
  await using shop = await WorkerHarness.open({
    judge: async (_, judge) => {
      await gate.pass();
      await judge();
      ended++;
    },
  });
  await putLoopCheck(shop);
  await closeWithTools(shop, 1);
  shop.start();
  await gate.reached();
  await finish(shop.runs, 2);
  await shop.becomesFinal(run(2));
  assertEquals(ended, 0);
  const stopped = shop.loop.stop();
  gate.open();
  await stopped;
  assert(ended > 0);
  assertEquals(await checksOf(shop, 1), "checks done 1");
});
