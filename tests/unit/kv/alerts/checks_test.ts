/** Results of checks: the incidents that the commits of judged runs make. */
import { assertEquals } from "@std/assert";
import type { RuleSettings } from "../../../../domain/alerts/rule.ts";
import type { CheckResult } from "../../../../domain/runs/check_result.ts";
import type { FinishStatus } from "../../../../domain/runs/run.ts";
import { KnownAgents } from "../../../../kv/agents/known_agents.ts";
import { createDeletionWork } from "../../../../kv/retention/deletion_work.ts";
import { createIdleHandler } from "../../../../kv/runs/idle_closes.ts";
import { THREE_FAILURES } from "../../../support/builders/alert_rules.ts";
import { aCheck, assertVerified } from "../../../support/builders/checks.ts";
import { aCall, run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

const FAILED: RuleSettings["condition"] = {
  kind: "check_failed",
  checks: ["finished"],
  severityMin: "warn",
  consecutive: 2,
};

/** A process with one check and one rule of it; no rule counts how runs end. */
async function begin(
  store: TempStore["store"],
  settings: Partial<RuleSettings> = {},
  expression = 'status == "success"',
): Promise<AlertProcess> {
  const here = new AlertProcess(store);
  await here.put("rule", "failures", null);
  await here.put("check", "finished", aCheck(expression));
  await here.putRule("checks", { condition: FAILED, ...settings });
  return here;
}

const STATUSES: Readonly<Record<string, FinishStatus>> = { b: "failed", g: "success" };

/** Closes runs by letters, without processing them. */
async function closed(here: AlertProcess, text: string): Promise<void> {
  for (const [i, letter] of Array.from(text).entries()) {
    await here.close(i + 1, STATUSES[letter] as FinishStatus);
  }
}

TempStore.test("a run that is judged again counts by its last results", async (temp) => {
  const here = await begin(temp.store, {}, "usage.llm_calls < 2");
  for (const n of [1, 2]) {
    await here.close(n, "success");
    await here.runs.append(TEAM, run(n), [aCall(n)], NOON + n);
  }
  await here.work();
  assertEquals(await here.open(), []);
  // Late events.
  for (const n of [1, 2]) {
    await here.runs.append(TEAM, run(n), [aCall(10 + n)], NOON + 10);
    await here.work();
  }
  assertEquals(await here.open(), ["checks =a 2: 2,1"]);
  await here.put("check", "finished", aCheck("usage.llm_calls < 4"));
  assertEquals(await here.open(), ["checks =a 2: 2,1"]);
  await here.runs.append(TEAM, run(1), [aCall(21)], NOON + 20);
  await here.work();
  assertEquals(await here.open(), []);
  await assertVerified(here.store);
});

TempStore.test("a run whose late events make it bad does not end the incident before it", async (temp) => {
  const here = await begin(
    temp.store,
    { condition: { ...FAILED, consecutive: 1 } },
    "usage.llm_calls < 2",
  );
  const late = async (n: number, call: number) => {
    await here.runs.append(TEAM, run(n), [aCall(call)], ++here.nowMs);
    await here.work();
  };
  await here.closeAll("g");
  await late(1, 1);
  await late(1, 2);
  assertEquals(await here.open(), ["checks =a 1: 1"]);
  await here.closeAll("g", 2);
  assertEquals(await here.open(), []);
  assertEquals(await here.instances(), []);
  await late(2, 3);
  assertEquals(await here.open(), []);
  await late(2, 4);
  assertEquals(await here.open(), ["checks =a 2: 2,1"]);
  assertEquals((await here.incidents()).map(({ state, count }) => [state, count]), [
    ["resolved", 1],
    ["open", 2],
  ]);
  await assertVerified(here.store);
});

TempStore.test("a run that is open again does not end the incident before it", async (temp) => {
  const condition = { ...THREE_FAILURES.condition, consecutive: 1 } as const;
  const here = new AlertProcess(temp.store);
  await here.putRule("failures", { condition });
  const handler = createIdleHandler(here.store, new KnownAgents(here.store.memory, () => 0));
  await here.closeAll("b");
  assertEquals(await here.open(), ["failures =a 1: 1"]);
  const idle = { idleTimeoutSeconds: 60, idleTimeoutStatus: "success" } as const;
  await here.runs.open(TEAM, { id: run(2), agent: "a", startedAt: NOON, ...idle }, NOON + 2);
  await here.work();
  here.nowMs = NOON + 61_000;
  await handler.handle(
    await here.due(here.nowMs),
    { nowMs: here.nowMs, absences: [], summarizedToMs: here.nowMs },
    new AbortController().signal,
  );
  await here.work();
  assertEquals(await here.open(), []);
  await here.runs.append(TEAM, run(2), [aCall(1)], ++here.nowMs);
  await here.work();
  assertEquals(await here.open(), ["failures =a 1: 1"]);
  await here.runs.finish(TEAM, run(2), { status: "failed", finishedAt: NOON }, ++here.nowMs);
  await here.work();
  assertEquals(await here.open(), ["failures =a 2: 2,1"]);
  await assertVerified(here.store);
});

TempStore.test("an incident has the error of its newest run, whichever is judged last", async (temp) => {
  const here = await begin(temp.store, { resolveAfter: 2 });
  await closed(here, "bbb");
  const judge = async (n: number, message: string | null) => {
    const result: CheckResult = {
      ...{ check: "finished", id: "id_finished", version: 1, severity: "fail", got: "", message },
      ...{ status: message === null ? "pass" : "fail", at: NOON, revision: 1 },
    };
    await here.updater.change(TEAM.id, [run(n)], (run) => ({
      run,
      before: run.summary,
      after: run.summary && { ...run.summary },
      judged: [result],
      rows: { sets: [], deletes: [] },
    }));
  };
  const errors = async () => (await here.incidents()).map(({ error, runs }) => [error, runs[0]]);
  await here.pipeline.project(TEAM.id, [run(1), run(3)]);
  assertEquals(await errors(), [['Expected status == "success"', run(3)]]);
  await here.pipeline.project(TEAM.id, [run(2)]);
  await judge(2, "another error");
  assertEquals(await errors(), [['Expected status == "success"', run(3)]]);
  await judge(3, null);
  assertEquals(await errors(), [[null, run(2)]]);
});

TempStore.test("a deleted run goes on counting, as a removed failed run does", async (temp) => {
  const here = await begin(temp.store);
  await here.closeAll("bb");
  const { deletions } = createDeletionWork({
    store: temp.store,
    updater: here.updater,
    now: () => here.nowMs,
    untilProjected: () => Promise.resolve(),
  });
  await deletions.deleteRun(TEAM, run(2), "key_1");
  assertEquals((await here.open()).length, 1);
  await here.closeAll("b", 3);
  assertEquals((await here.incidents()).map(({ count }) => count), [3]);
});
