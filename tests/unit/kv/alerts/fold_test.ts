/** Signals of runs: the instances, incidents and messages that their commits make. */
import { assert, assertEquals } from "@std/assert";
import type { RuleSettings } from "../../../../domain/alerts/rule.ts";
import { THREE_FAILURES } from "../../../support/builders/alert_rules.ts";
import { aCall, open, run, stagesOf, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { getValue } from "../../../../kv/store.ts";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import { newSignal, TEAM as OF_TEAM } from "../../../../domain/alerts/signal.ts";

const DAY_MS = 86_400_000;

AlertProcess.test("three failures in a row open one incident, which goes on until a success", async (here) => {
  await here.putMail("ops");
  await here.closeAll("bgbb");
  assertEquals(await here.open(), []);
  await here.closeAll("b", 5);
  assertEquals(await here.open(), ["failures =a 3: 5,4,3"]);
  await here.closeAll("cb", 6);
  assertEquals(await here.open(), ["failures =a 4: 7,5,4,3"]);
  assertEquals(await here.deliveries(), ["ops incident.opened"]);
  const runIncidents = (n: number) => getValue(here.store, keys.runIncidents(TEAM.id, run(n)));
  const [incident] = await here.incidents();
  assertEquals([await runIncidents(3), await runIncidents(7), await runIncidents(1)], [
    [incident?.id],
    [incident?.id],
    null,
  ]);
  await here.closeAll("g", 8);
  assertEquals(await here.open(), []);
  assertEquals((await here.incidents()).map(({ resolvedBy }) => resolvedBy), ["condition"]);
  assertEquals(await here.deliveries(), ["ops incident.opened", "ops incident.resolved"]);
  assertEquals((await here.keysOf({ prefix: ["open_incident"] })).length, 0);
  assertEquals((await here.keysOf({ prefix: ["incident_at"] })).length, 1);
  await here.closeAll("gg", 9);
  assertEquals(await here.instances(), []);
  assertEquals(await getValue(here.store, keys.alertState(TEAM.id)), {});
});

AlertProcess.test("a good run of a team without instances changes no row of alerts and reads none", async (here) => {
  await here.closeAll("g");
  const before = await here.keysBelow([]);
  await here.closeAll("g", 2);
  assert(before.length > 0);
  for (const prefix of [["alert"], ["alert_state"], ["incident"], keys.work("settled")]) {
    assertEquals(await here.keysBelow(prefix), []);
  }
});

AlertProcess.test("an outcome counts at the arrival of its close, also if its opening comes later", async (here) => {
  const finish = (n: number, status: "failed" | "success") =>
    here.runs.finish(TEAM, run(n), { status, finishedAt: NOON + n }, NOON + n);
  const openLate = async (n: number) => {
    here.nowMs++;
    await here.runs.open(TEAM, { id: run(n), agent: "a", startedAt: NOON }, here.nowMs);
    await here.work();
  };
  here.nowMs = NOON + 10;
  await here.close(1, "failed");
  await finish(2, "failed");
  await finish(3, "success");
  await here.close(4, "failed");
  await here.close(5, "failed");
  await here.work();
  assertEquals(await here.open(), ["failures =a 3: 5,4,1"]);
  await openLate(2);
  assertEquals(await here.open(), ["failures =a 4: 5,4,2,1"]);
  await openLate(3);
  assertEquals(await here.open(), []);
  here.nowMs = NOON + 20;
  await here.close(6, "failed");
  await here.work();
  assertEquals(await here.open(), ["failures =a 3: 6,5,4"]);
});

AlertProcess.test("a bad outcome that comes late meets closes of runs that started long ago", async (here) => {
  const condition = { ...THREE_FAILURES.condition, consecutive: 1 } as RuleSettings["condition"];
  await here.putRule("failures", { condition }, NOON);
  for (const n of [1, 2]) await open(here.runs, n);
  for (let n = 3; n < 153; n++) {
    await here.runs.open(TEAM, { id: run(n), agent: "a", startedAt: NOON + n }, NOON + n);
  }
  await here.runs.finish(TEAM, run(2), { status: "failed", finishedAt: NOON + 200 }, NOON + 200);
  await here.runs.finish(TEAM, run(1), { status: "success", finishedAt: NOON + 201 }, NOON + 201);
  here.nowMs = NOON + 300;
  const others = Array.from({ length: 150 }, (_, i) => run(i + 3));
  await here.pipeline.project(TEAM.id, [...others, run(1)]);
  await here.pipeline.project(TEAM.id, [run(2)]);
  assertEquals(await here.incidents(), []);
});

AlertProcess.test("a cost above the limit opens an incident once a run, until a day without one", async (here) => {
  // A token costs 3 picodollars, and the answer 5.
  await here.putRule("dear", { condition: { kind: "run_cost", usd: "0.000000000305" } });
  const spend = async (n: number, ...tokens: number[]) => {
    await here.runs.append(TEAM, run(n), tokens.map((count) => aCall(count)), NOON + n);
    await here.work();
  };
  await here.runs.open(TEAM, { id: run(1), agent: "a", startedAt: NOON }, NOON);
  await spend(1, 100);
  assertEquals(await here.open(), []);
  await spend(1, 1);
  assertEquals(await here.open(), ["dear =a 1: 1"]);
  await spend(1, 200);
  await here.runs.open(TEAM, { id: run(2), agent: "a", startedAt: NOON }, NOON);
  await spend(2, 102);
  assertEquals(await here.open(), ["dear =a 2: 2,1"]);
  // An open run of an import.
  const startedAt = NOON - 2 * DAY_MS;
  await here.runs.open(TEAM, { id: run(3), agent: "a", startedAt }, NOON);
  await spend(3, 1_000);
  assertEquals(await here.open(), ["dear =a 2: 2,1"]);
  here.nowMs = NOON + DAY_MS;
  await here.evaluate();
  assertEquals((await here.open()).length, 1);
  here.nowMs = NOON + 2 + DAY_MS;
  await here.evaluate();
  assertEquals((await here.incidents()).map(({ resolvedBy }) => resolvedBy), ["quiet"]);
  assertEquals(await here.instances(), []);
});

AlertProcess.test("the stage of alerts is done for runs that a rule counts", async (here) => {
  await here.closeAll("gbgggg");
  const states = [];
  for (let n = 1; n <= 6; n++) {
    const stages = await stagesOf(here.store, n);
    states.push(stages.find(({ stage }) => stage === "alerts")?.state);
  }
  // The last bad outcome is among three for two more runs, and the third removes the instance.
  assertEquals(states, ["skipped", "done", "done", "done", "done", "skipped"]);
});

AlertProcess.test("a commit with too many incidents leaves some to the clock", async (here) => {
  for (let n = 0; n < 20; n++) await here.putMail(`channel-${n}`);
  for (let n = 0; n < 9; n++) {
    const condition = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;
    await here.putRule(`rule-${n}`, { condition });
  }
  await here.closeAll("b");
  const first = (await here.open()).length;
  assert(first > 0 && first < 9, `${first}`);
  for (let n = 0; n < 10; n++) await here.evaluate();
  assertEquals((await here.open()).length, 9);
  assertEquals((await here.deliveries()).length, 180);
  await here.closeAll("g", 2);
  for (let n = 0; n < 10; n++) await here.evaluate();
  assertEquals(await here.open(), []);
  assertEquals((await here.deliveries()).length, 360);
});

const ONE_FAILURE = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;

AlertProcess.test("an incident has the error of its run, which is read only if it is long", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  // The first one is read: a new process does not know of earlier marks.
  const errors = ["first", "no space left", "no space left ".repeat(100)];
  const parts = errors.map((_, n) => JSON.stringify(keys.run(TEAM.id, run(n + 1))));
  const readRuns: number[] = [];
  const list = here.store.reader.list.bind(here.store.reader);
  here.store.reader.list = (selector, options) => {
    const start = JSON.stringify("start" in selector ? selector.start : null);
    if (parts.includes(start)) readRuns.push(parts.indexOf(start) + 1);
    return list(selector, options);
  };
  for (const [n, error] of errors.entries()) {
    const [id, at] = [run(n + 1), NOON + n];
    await here.runs.open(TEAM, { id, agent: `agent-${n}`, startedAt: at }, at);
    const output = rawOf({ error });
    await here.runs.finish(TEAM, id, { status: "failed", finishedAt: at, output }, at);
    await here.work();
  }
  const named = (await here.incidents()).map(({ error }) => error);
  assertEquals(named, errors.map((error) => error.slice(0, 200)));
  assertEquals(readRuns, [1, 3]);
});

/** Withdraws the success of run number `n`. */
async function undo(here: AlertProcess, n: number): Promise<void> {
  const at = NOON + n;
  const subject = { ...OF_TEAM, agent: "a" };
  const signal = newSignal({ kind: "run_failed", key: run(n), at, outcome: "none", subject });
  await here.change({ signals: [{ ...signal, run: run(n), undoneAt: at }] });
}

/** Resolves the only open incident by hand. */
async function resolve(here: AlertProcess): Promise<void> {
  const [open] = (await here.incidents()).filter(({ state }) => state === "open");
  const made = { at: here.nowMs, by: "key_1" };
  const byHand = { id: open?.id ?? "", what: "resolved", note: null, made } as const;
  await here.change({ signals: [], byHand });
}

AlertProcess.test("an undone success opens the incident of the failures before it again", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  await here.closeAll("bg");
  assertEquals(await here.states(), ["failures =a 1 condition"]);
  await undo(here, 2);
  assertEquals(await here.states(), ["failures =a 1 condition", "failures =a 1 open"]);
});

AlertProcess.test("failures that a user resolved open nothing when a later success is undone", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  await here.closeAll("b");
  await resolve(here);
  await here.closeAll("g", 2);
  await undo(here, 2);
  assertEquals(await here.states(), ["failures =a 1 hand"]);
  await here.closeAll("b", 3);
  assertEquals(await here.states(), ["failures =a 1 hand", "failures =a 1 open"]);
});

AlertProcess.test("a group that an undone success makes fire beyond the limit shares the incident of others", async (here) => {
  await here.putRule("failures", { condition: ONE_FAILURE });
  await here.closeAll("bg");
  const state = { failures: { instances: 1_000, firing: 1_000, overflow: null } };
  await here.updater.commitPlan(TEAM.id, "call", () =>
    Promise.resolve({
      result: null,
      rows: { sets: [{ key: keys.alertState(TEAM.id), value: state }], deletes: [] },
    }));
  await undo(here, 2);
  assertEquals(await here.states(), ["failures =a 1 condition", "failures (other) 1 open"]);
});
