/** Results of checks follow each change of a run: rows, summaries, counts and failures. */
import { assert, assertEquals } from "@std/assert";
import { createDeletionWork } from "../../../../kv/retention/deletion_work.ts";
import { createSweepStore } from "../../../../kv/retention/sweep_store.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { createJudgeLater } from "../../../../kv/checks/judge.ts";
import { createScoreStore } from "../../../../kv/runs/scores.ts";
import type { ScoreId } from "../../../../domain/core/ids.ts";
import type { IdleClose } from "../../../../domain/runs/idle.ts";
import { readHead } from "../../../../kv/runs/heads.ts";
import { DAY_MS } from "../../../support/harness/retention_harness.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { aTool } from "../../../support/builders/judged_events.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";
import { aCall, finish, open, run, stagesOf, TEAM } from "../../../support/builders/stored_runs.ts";
import {
  aCheck,
  assertVerified,
  countsOf,
  failuresOf,
  outcomesOf,
  resultsOf,
  summaryOf,
} from "../../../support/builders/checks.ts";
import { pendingName } from "../../../../kv/writer/group.ts";

const DAY = "2026-11-21";

/** A process with a check of cost, one of status and a milder one of calls. */
async function opened(temp: TempStore): Promise<AlertProcess> {
  const process = new AlertProcess(temp.store);
  await process.put("check", "cheap", aCheck("cost_usd < 0.000000000010"));
  await process.put("check", "good", aCheck('status == "success"'));
  await process.put("check", "short", aCheck("usage.llm_calls < 1", { severity: "warn" }));
  return process;
}

Deno.test("results: a closed run is judged with its cost, an open one is not", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  await open(process.runs, 1);
  await process.work();
  assertEquals([await outcomesOf(store, 1), await countsOf(store)], [[], []]);
  await process.runs.append(TEAM, run(1), [aCall(2)], NOON);
  await finish(process.runs, 1);
  await process.work();
  assertEquals(await outcomesOf(store, 1), ["cheap fail", "good pass", "short fail"]);
  const { checks, listed } = await summaryOf(store, 1);
  assertEquals([checks, listed.has], [{ notPassed: 2 }, ["failed_check"]]);
  assertEquals(await countsOf(store), [
    `${DAY} * id_cheap: 0,1,0,0`,
    `${DAY} * id_good: 1,0,0,0`,
    `${DAY} * id_short: 0,1,0,0`,
    `${DAY} a id_cheap: 0,1,0,0`,
    `${DAY} a id_good: 1,0,0,0`,
    `${DAY} a id_short: 0,1,0,0`,
  ]);
  assertEquals(await failuresOf(store, "id_cheap"), [1]);
  const states = (await stagesOf(store, 1)).map(({ state }) => state);
  assertEquals(states, ["done", "done", "skipped", "skipped"]);
  const head = await readHead({ store, team: TEAM.id, id: run(1) });
  assertEquals(head.checks, await resultsOf(store, 1));
  await assertVerified(store);
});

Deno.test("results: late events, new settings and a deleted check change counts by the difference", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  for (const n of [1, 2]) await process.close(n, "success");
  await process.work();
  assertEquals(await outcomesOf(store, 1), ["cheap pass", "good pass", "short pass"]);
  await process.runs.append(TEAM, run(1), [aCall(4)], NOON + 9);
  await process.work();
  assertEquals(await outcomesOf(store, 1), ["cheap fail", "good pass", "short fail"]);
  assertEquals((await resultsOf(store, 1)).map(({ revision }) => revision), [2, 2, 2]);
  assertEquals((await countsOf(store)).slice(0, 3), [
    `${DAY} * id_cheap: 1,1,0,0`,
    `${DAY} * id_good: 2,0,0,0`,
    `${DAY} * id_short: 1,1,0,0`,
  ]);
  await assertVerified(store);
  // The next judgement of each run is by what is configured then.
  await process.put("check", "cheap", null);
  await process.put("check", "short", aCheck("usage.llm_calls < 1", { enabled: false }));
  await assertVerified(store);
  await process.runs.append(TEAM, run(1), [aCall(5)], NOON + 10);
  await process.work();
  assertEquals(await outcomesOf(store, 1), ["good pass"]);
  assertEquals(await outcomesOf(store, 2), ["cheap pass", "good pass", "short pass"]);
  assertEquals((await countsOf(store)).slice(0, 2), [
    `${DAY} * id_good: 2,0,0,0`,
    `${DAY} * id_short: 1,0,0,0`,
  ]);
  assertEquals(await failuresOf(store, "id_cheap"), []);
  assertEquals((await summaryOf(store, 1)).listed.has, ["late"]);
  await assertVerified(store);
  await process.put("check", "good", aCheck("true", { agents: ["other"] }));
  await process.runs.append(TEAM, run(1), [aCall(6)], NOON + 11);
  await process.work();
  assertEquals([await outcomesOf(store, 1), (await summaryOf(store, 1)).checks], [[], undefined]);
  await assertVerified(store);
});

Deno.test("results: an opening after the close begins them, a deletion subtracts them", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  await finish(process.runs, 1);
  await process.work();
  assertEquals(await outcomesOf(store, 1), []);
  await open(process.runs, 1);
  await process.close(2, "failed");
  await process.work();
  assertEquals(await outcomesOf(store, 1), ["cheap pass", "good pass", "short pass"]);
  assertEquals((await countsOf(store))[1], `${DAY} * id_good: 1,1,0,0`);
  await assertVerified(store);
  const { deletions } = createDeletionWork({
    store,
    updater: process.updater,
    now: () => NOON + 20,
    untilProjected: () => Promise.resolve(),
  });
  for (const n of [1, 2]) await deletions.deleteRun(TEAM, run(n), "key_1");
  assertEquals([await countsOf(store), await failuresOf(store, "id_good")], [[], []]);
  assertEquals(await temp.keysBelow(keys.checkResults(TEAM.id, run(1))), []);
  await assertVerified(store);
});

Deno.test("results: the last run of deleted checks takes their counts with it", async () => {
  await using temp = await TempStore.open();
  const process = await opened(temp);
  await process.close(1, "success");
  await process.work();
  for (const slug of ["cheap", "good", "short"]) await process.put("check", slug, null);
  const { deletions } = createDeletionWork({
    store: temp.store,
    updater: process.updater,
    now: () => NOON + 20,
    untilProjected: () => Promise.resolve(),
  });
  await deletions.deleteRun(TEAM, run(1), "key_1");
  assertEquals(await temp.keysBelow(keys.checkCountsOf(TEAM.id)), []);
  await assertVerified(temp.store);
});

Deno.test("results: retention removes their texts, then the results with the record", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  await open(process.runs, 1, { goal: "a goal" });
  await process.runs.append(TEAM, run(1), [aCall(4)], NOON);
  await finish(process.runs, 1);
  await process.work();
  const before = await countsOf(store);
  const sweeps = createSweepStore(store, process.updater);
  const sweep = async (atMs: number) => {
    for (const retentionClass of ["payload", "record"] as const) {
      let from: object | null = null;
      do from = (await sweeps.step(TEAM, retentionClass, atMs, from, false)).next; while (
        from !== null
      );
    }
  };
  assert((await resultsOf(store, 1))[0]?.message !== null);
  await sweep(NOON + 95 * DAY_MS);
  const results = await resultsOf(store, 1);
  assertEquals(results.map(({ got, message }) => [got, message]), Array(3).fill([null, null]));
  assertEquals(results.map(({ status }) => status), ["fail", "pass", "fail"]);
  assertEquals([await countsOf(store), await failuresOf(store, "id_cheap")], [before, [1]]);
  await assertVerified(store);
  await sweep(NOON + 4_000 * DAY_MS);
  assertEquals([await countsOf(store), await failuresOf(store, "id_cheap")], [[], []]);
  assertEquals(await temp.keysBelow(keys.run(TEAM.id, run(1))), []);
  await assertVerified(store);
});

Deno.test("results: what must be read is judged later, and the results stay until then", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  await process.close(1, "success");
  await process.work();
  const before = await resultsOf(store, 1);
  await process.put("check", "tools", aCheck('tools.all(tool, tool.error == "")'));
  await process.runs.append(TEAM, run(1), [aTool(4, "look")], NOON + 9);
  await process.work();
  assertEquals(await resultsOf(store, 1), before);
  const { revision, checks } = await summaryOf(store, 1);
  assertEquals([revision, checks], [2, { notPassed: 0 }]);
  const states = (await stagesOf(store, 1)).map(({ state }) => state);
  assertEquals(states, ["done", "pending", "skipped", "skipped"]);
  assertEquals((await process.dueRuns(NOON)).map(({ name }) => name), [run(1)]);
  await assertVerified(store);
});

Deno.test("results: a run in memory is judged by all of its texts", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = new AlertProcess(store);
  await process.put("check", "output", aCheck('output == "done" && goal == "it"'));
  await process.put("check", "scored", aCheck("scores.quality > 0.5"));
  await process.put("check", "tagged", aCheck('metadata.tier == "gold"'));
  const scores = [["quality", 0.9]] as const;
  await open(process.runs, 1, { goal: "it", metadata: [["tier", "gold"]] });
  await process.runs.finish(
    TEAM,
    run(1),
    { status: "success", finishedAt: NOON + 1, output: '"done"' as never, scores },
    NOON,
  );
  await process.work();
  assertEquals(await outcomesOf(store, 1), ["output pass", "scored pass", "tagged pass"]);
  await assertVerified(store);
});

Deno.test("results: an expression that no longer compiles is an error, and stops nothing", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  await process.put("check", "broken", aCheck("no_such_name == 1"));
  await process.close(1, "success");
  await process.work();
  const [broken, ...others] = await resultsOf(store, 1);
  assertEquals([broken?.status, broken?.reason], ["error", "does_not_compile"]);
  assertEquals(others.map(({ status }) => status), ["pass", "pass", "pass"]);
  await assertVerified(store);
});

Deno.test("results: an added score begins the checks again, if one of them names scores", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  await process.close(1, "success");
  await process.work();
  process.nowMs++;
  const scores = createScoreStore(store);
  const score = (n: number) => {
    const id = `scr_eu_${String(n).padStart(32, "0")}` as ScoreId;
    return scores.add(
      TEAM,
      run(1),
      { id, name: "quality", source: "api", value: 1 - n / 5 },
      NOON + 10 + n,
    );
  };
  const before = await resultsOf(store, 1);
  await score(1);
  await process.work();
  assertEquals(await resultsOf(store, 1), before);
  await process.put("check", "scored", aCheck("scores.quality > 0.5"));
  await score(2);
  await process.work();
  const [row, ...others] = await process.dueRuns();
  assert(row !== undefined);
  assertEquals(others, []);
  await process.workOn(row, async () => {
    // While it is judged, another score begins it again at the same revision.
    await score(3);
    await process.work();
  });
  const [again] = await process.dueRuns();
  assert(again !== undefined);
  await createJudgeLater({ changes: process.updater, now: () => process.nowMs })(again);
  assertEquals(await process.dueRuns(), []);
  assertEquals(await outcomesOf(store, 1), [
    "cheap pass",
    "good pass",
    "scored fail",
    "short pass",
  ]);
  const stages = await stagesOf(store, 1);
  assertEquals(stages.map(({ state }) => state).slice(0, 2), ["done", "done"]);
  const { revision, listed } = await summaryOf(store, 1);
  assertEquals([revision, listed.has], [1, ["failed_check"]]);
  await assertVerified(store);
});

Deno.test("results: a run that goes on after its idle close loses them", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const process = await opened(temp);
  await open(process.runs, 1);
  await process.runs.append(TEAM, run(1), [aCall(2)], NOON);
  await process.work();
  const idle: IdleClose = { status: "timeout", at: NOON + 1, receivedAt: NOON + 5, seen: 1 };
  await store.writer.commit({ sets: [{ key: keys.idle(TEAM.id, run(1)), value: idle }] });
  store.heads.forget(pendingName(TEAM.id, run(1)));
  await process.pipeline.project(TEAM.id, [run(1)]);
  assertEquals(await outcomesOf(store, 1), ["cheap fail", "good fail", "short fail"]);
  assertEquals(await failuresOf(store, "id_good"), [1]);
  await process.runs.append(TEAM, run(1), [aCall(3)], NOON + 9);
  await process.work();
  assertEquals([await outcomesOf(store, 1), await countsOf(store)], [[], []]);
  assertEquals(await failuresOf(store, "id_good"), []);
  const { listed, checks } = await summaryOf(store, 1);
  assertEquals([listed.has, checks, await stagesOf(store, 1)], [[], undefined, []]);
});
