/** Results of checks follow each change of a run: rows, summaries, counts and failures. */
import { assert, assertEquals } from "@std/assert";
import { createDeletionWork } from "../../../../kv/retention/deletion_work.ts";
import { createSweepStore } from "../../../../kv/retention/sweep_store.ts";
import { keys } from "../../../../kv/base/keys.ts";
import type { IdleClose } from "../../../../domain/runs/idle.ts";
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

/** A process with a check of cost, one of status and a milder one of calls. */
async function opened(temp: TempStore): Promise<AlertProcess> {
  const process = new AlertProcess(temp.store);
  await process.put("check", "cheap", aCheck("cost_usd < 0.000000000010"));
  await process.put("check", "good", aCheck('status == "success"'));
  await process.put("check", "short", aCheck("usage.llm_calls < 1", { severity: "warn" }));
  return process;
}

TempStore.test("results: the last run of deleted checks takes their counts with it", async (temp) => {
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

TempStore.test("results: retention removes their texts, then the results with the record", async (temp) => {
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

TempStore.test("results: what must be read is judged later, and the results stay until then", async (temp) => {
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

TempStore.test("results: a run in memory is judged by all of its texts", async ({ store }) => {
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

TempStore.test("results: an expression that no longer compiles is an error, and stops nothing", async (temp) => {
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

TempStore.test("results: a run that goes on after its idle close loses them", async (temp) => {
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
