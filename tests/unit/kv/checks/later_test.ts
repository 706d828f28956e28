/** Judging what is not judged at once. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { keys, OWN_FORMAT } from "../../../../kv/base/keys.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import { exportLines } from "../../../../kv/transfer/export.ts";
import { importLines } from "../../../../kv/transfer/import.ts";
import { createSweepStore } from "../../../../kv/retention/sweep_store.ts";
import { createScoreStore } from "../../../../kv/runs/scores.ts";
import type { ScoreId } from "../../../../domain/core/ids.ts";
import type { RunChanges } from "../../../../kv/checks/check_runs.ts";
import { aCheck, assertVerified, outcomesOf, resultsOf } from "../../../support/builders/checks.ts";
import { aCall, run, TEAM } from "../../../support/builders/stored_runs.ts";
import { aScore, aTool } from "../../../support/builders/judged_events.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { DAY_MS } from "../../../support/harness/retention_harness.ts";
import type { Work } from "../../../../domain/work/work.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";
import { replaced } from "../../../support/fakes/replaced.ts";

const NO_LOOP = "longest_repeat.times < 3";
const DONE = ["done", "done", "skipped", "skipped"];
const PENDING = ["done", "pending", "skipped", "skipped"];

/** Closes run 1 with events; returns its work, after a check of loops applied to it. */
async function awaiting(process: AlertProcess, ...numbers: readonly number[]): Promise<Work> {
  await process.put("check", "loop", aCheck(NO_LOOP));
  await process.closeWith(1, same(...numbers));
  await process.work();
  const [task] = await process.dueRuns();
  assert(task !== undefined);
  return task;
}

/** Returns tool calls with the same input. */
const same = (...numbers: readonly number[]) => numbers.map((n) => aTool(n, "look"));

AlertProcess.test("later: it judges what must be read, with the other checks of the run", async (process) => {
  await process.put("check", "a-loop", aCheck(NO_LOOP));
  await process.put("check", "good", aCheck('status == "success"'));
  await process.closeWith(1, same(1, 2, 3));
  await process.closeWith(2, same(1, 2));
  await process.work();
  assertEquals(await process.statesOf(1), PENDING);
  await process.judgeAll();
  assertEquals(await outcomesOf(process.store, 1), ["a-loop fail", "good pass"]);
  assertEquals(await outcomesOf(process.store, 2), ["a-loop pass", "good pass"]);
  assertEquals(await process.statesOf(1), DONE);
  assertEquals(await process.dueRuns(), []);
  const [loop] = await resultsOf(process.store, 1);
  assertEquals([loop?.revision, loop?.at], [1, NOON]);
  await assertVerified(process.store);
});

AlertProcess.test("later: an added score is judged if a check names scores", async (process) => {
  const scores = createScoreStore(process.store);
  await process.put("check", "scored", aCheck('"quality" in scores && scores.quality > 0.5'));
  await process.put("check", "loop", aCheck(NO_LOOP, { statuses: ["failed"] }));
  await process.closeWith(1, []);
  await process.judgeAll();
  assertEquals(await outcomesOf(process.store, 1), ["scored fail"]);
  const score = { id: "scr_eu_1" as ScoreId, name: "quality", value: 0.9, source: "person" };
  await scores.add(TEAM, run(1), score, NOON + 5);
  await process.work();
  assertEquals(await process.statesOf(1), PENDING);
  await process.judgeAll();
  assertEquals(await outcomesOf(process.store, 1), ["scored pass"]);
  await process.runs.append(TEAM, run(1), [aScore(1, "quality", 0.1, NOON + 6)], NOON + 7);
  await process.judgeAll();
  assertEquals(await outcomesOf(process.store, 1), ["scored fail"]);
  await assertVerified(process.store);
});

TempStore.test("later: without the payload a check of events is skipped, and the run stays as it is", async ({ store }) => {
  const process = new AlertProcess(store);
  const task = await awaiting(process, 1, 2, 3);
  const atMs = NOON + 95 * DAY_MS;
  await createSweepStore(store, process.updater).step(TEAM, "payload", atMs, null, false);
  await process.complete(task);
  const [result] = await resultsOf(store, 1);
  assertEquals([result?.status, result?.reason, result?.got], ["skipped", "payload_removed", null]);
  await assertVerified(store);
});

/** Judges run 1, of two equal calls; something happens before its results are stored. */
async function racing(
  temp: TempStore,
  between: (other: AlertProcess) => Promise<void>,
): Promise<number> {
  const other = new AlertProcess(temp.store);
  let changes = 0;
  const process = new AlertProcess(temp.store, (of): RunChanges => ({
    async change(team, ids, plan) {
      if (++changes === 2) await between(other);
      await of.change(team, ids, plan);
    },
  }));
  const task = await awaiting(process, 1, 2);
  await process.complete(task);
  assertEquals(await process.statesOf(1), DONE);
  await assertVerified(temp.store);
  return changes;
}

TempStore.test("later: a run that another instance judges meanwhile is judged as it is then", async (temp) => {
  const changes = await racing(temp, async (other) => {
    await other.runs.append(TEAM, run(1), same(3), NOON + 5);
    await other.judgeAll();
  });
  assertEquals([changes, await outcomesOf(temp.store, 1)], [3, ["loop fail"]]);
  assertEquals((await resultsOf(temp.store, 1)).map(({ revision }) => revision), [2]);
});

TempStore.test("later: no text of a payload that was removed meanwhile is stored", async (temp) => {
  const changes = await racing(temp, async ({ updater }) => {
    const atMs = NOON + 95 * DAY_MS;
    await createSweepStore(temp.store, updater).step(TEAM, "payload", atMs, null, false);
  });
  const [result] = await resultsOf(temp.store, 1);
  assertEquals([changes, result?.reason, result?.got], [4, "payload_removed", null]);
});

AlertProcess.test("later: a late event that is not summarized yet leaves the judgement to its projection", async (process) => {
  const task = await awaiting(process, 1, 2);
  await process.runs.append(TEAM, run(1), same(3), NOON + 5);
  await process.complete(task);
  assertEquals(await outcomesOf(process.store, 1), []);
  await process.judgeAll();
  assertEquals(await outcomesOf(process.store, 1), ["loop fail"]);
  assertEquals(await process.statesOf(1), DONE);
});

AlertProcess.test("later: a run that began again while it was judged is judged again", async (process) => {
  const scores = createScoreStore(process.store);
  await process.put("check", "scored", aCheck('"quality" in scores && scores.quality > 0.5'));
  await process.closeWith(1, [aScore(1, "quality", 0.1)]);
  await process.work();
  const [task] = await process.dueRuns();
  assert(task !== undefined);
  await process.complete(task, async () => {
    // The score has the same revision of the cost, and the clock stands still.
    const score = { id: "scr_eu_1" as ScoreId, name: "quality", value: 0.9, source: "person" };
    await scores.add(TEAM, run(1), score, NOON + 5);
    await process.work();
  });
  assertEquals(await process.statesOf(1), PENDING);
  await process.judgeAll();
  assertEquals(await outcomesOf(process.store, 1), ["scored pass"]);
});

TempStore.test("later: it may run twice, in two instances at once, and for runs that are gone", async (temp) => {
  const [process, other] = [new AlertProcess(temp.store), new AlertProcess(temp.store)];
  const task = await awaiting(process, 1, 2, 3);
  await Promise.all([process.judge(task), other.judge(task), process.judge(task)]);
  await process.complete(task);
  await other.complete(task);
  assertEquals(await outcomesOf(temp.store, 1), ["loop fail"]);
  await process.judge({ ...task, name: run(9) });
  await assertVerified(temp.store);
});

AlertProcess.test("later: without checks that apply any more, the results go", async (process) => {
  await process.put("check", "loop", aCheck(NO_LOOP));
  await process.closeWith(1, same(1, 2, 3));
  await process.judgeAll();
  await process.runs.append(TEAM, run(1), [aCall(4)], NOON + 5);
  await process.work();
  const [task] = await process.dueRuns();
  assert(task !== undefined);
  await process.put("check", "loop", null);
  await process.complete(task);
  assertEquals(await outcomesOf(process.store, 1), []);
  assertEquals(await process.statesOf(1), ["done", "skipped", "skipped", "skipped"]);
  assertEquals(await process.dueRuns(), []);
  await assertVerified(process.store);
});

TempStore.test("later: a failing read rejects, and stores nothing", async ({ store }) => {
  let fails = false;
  const reader = replaced(store.reader, {
    getMany: (wanted: Deno.KvKey[]) =>
      fails && wanted.some(([first]) => first === "events")
        ? Promise.reject(new Error("disk failed"))
        : store.reader.getMany(wanted),
  });
  const process = new AlertProcess({ ...store, reader });
  const task = await awaiting(process, 1, 2, 3);
  fails = true;
  await assertRejects(() => process.judge(task));
  assertEquals(await outcomesOf(store, 1), []);
  fails = false;
  await process.judgeAll();
  assertEquals(await outcomesOf(store, 1), ["loop fail"]);
});

AlertProcess.test("later: a run that awaits its checks does so after an export and an import", async (process) => {
  await process.put("check", "loop", aCheck(NO_LOOP));
  await process.closeWith(1, same(1, 2, 3));
  await process.work();
  await process.store.writer.commit({ sets: [{ key: keys.format(), value: OWN_FORMAT }] });
  await using copy = await TempStore.open();
  await importLines(copy.store, exportLines(process.store));
  const other = new AlertProcess(copy.store);
  assertEquals(await other.statesOf(1), PENDING);
  await other.judgeAll();
  assertEquals(await outcomesOf(copy.store, 1), ["loop fail"]);
  assertEquals(await other.statesOf(1), DONE);
});

TempStore.test("later: verify reports work that is not due, until it is given up", async (temp) => {
  const { store } = temp;
  const process = new AlertProcess(store);
  await process.put("check", "loop", aCheck(NO_LOOP));
  await process.closeWith(1, same(1, 2, 3));
  await process.work();
  await assertVerified(store);
  const [row] = await temp.keysBelow(["work", "run"]);
  assert(row !== undefined);
  await store.writer.commit({ deletes: [row] });
  const differences = async () => (await verifyStore(store)).differences.map(({ what }) => what);
  assertEquals(await differences(), [`work of ${run(1)}`]);
  const key = keys.runFailure(TEAM.id, run(1));
  const failure = { work: "checks", tries: 7, at: NOON, error: "Error: odd" };
  await store.writer.commit({ sets: [{ key, value: failure }] });
  assertEquals(await differences(), [`work of ${run(1)}`]);
  await store.writer.commit({ sets: [{ key, value: { ...failure, tries: 8 } }] });
  await assertVerified(store);
});
