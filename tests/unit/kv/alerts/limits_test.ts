/** The largest numbers of rules, groups and channels: each commit stays within the store's limits. */
import { assertEquals } from "@std/assert";
import { newInstance } from "../../../../domain/alerts/instance.ts";
import { FIRING_GROUPS_MAX, type Rule } from "../../../../domain/alerts/rule.ts";
import { picodollars } from "../../../../domain/pricing/money.ts";
import { instanceSet } from "../../../../kv/alerts/rows.ts";
import { groupsOf } from "../../../../kv/base/reads.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import { aCall, run, TEAM } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { ruleOf } from "../../../support/builders/alert_rules.ts";
import { HOUR, MINUTE } from "../../../support/harness/monitor_process.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

const FAILED = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;

/** Closes failed runs of different agents, and counts all of them. */
async function failAll(here: AlertProcess, agents: number): Promise<void> {
  for (let n = 1; n <= agents; n++) await here.close(n, "failed", NOON, { agent: `a${n}` });
  await here.work();
  await here.until(NOON + MINUTE);
}

/** Numbers of incidents by what resolved them. */
async function ends(here: AlertProcess): Promise<Record<string, number>> {
  const groups = Map.groupBy(await here.incidents(), ({ resolvedBy }) => resolvedBy ?? "open");
  return Object.fromEntries([...groups].map(([by, { length }]) => [by, length]));
}

AlertProcess.test("a rule with many open incidents is deleted: all of them end, with messages", async (here) => {
  for (const slug of ["ops", "boss", "team"]) await here.putMail(slug);
  await here.setRule("failures", ruleOf(FAILED, { groupBy: "agent" }));
  await failAll(here, 90);
  assertEquals(await ends(here), { open: 90 });
  await here.rules.remove(TEAM, "failures", { by: "key_1", at: here.nowMs });
  for (let second = 1; second <= 20; second++) await here.until(NOON + MINUTE + second * 1_000);
  assertEquals(await ends(here), { rule: 90 });
  assertEquals((await here.deliveries()).length, 90 * 3 * 2);
  assertEquals(await here.ruleRows(), []);
  assertEquals((await verifyStore(here.store, { pauseMs: 0 })).differences, []);
});

AlertProcess.test("a silence ends that held back many incidents: all of them are sent", async (here) => {
  for (const slug of ["ops", "boss"]) await here.putMail(slug);
  await here.setRule("failures", ruleOf(FAILED, { groupBy: "agent" }));
  await here.silenceUntil(NOON + HOUR);
  await failAll(here, 60);
  assertEquals(await here.deliveries(), []);
  await here.until(NOON + HOUR);
  for (let second = 1; second <= 10; second++) await here.until(NOON + HOUR + second * 1_000);
  assertEquals((await here.deliveries()).length, 120);
});

AlertProcess.test("messages about many incidents are repeated, all of them", async (here) => {
  for (const slug of ["ops", "boss"]) await here.putMail(slug);
  await here.setRule("failures", ruleOf(FAILED, { groupBy: "agent", renotifySeconds: 3_600 }));
  await failAll(here, 60);
  assertEquals((await here.deliveries()).length, 120);
  for (let second = 0; second <= 70; second++) await here.until(NOON + HOUR + second * 1_000);
  assertEquals((await here.deliveries()).length, 240);
});

AlertProcess.test("a run with many models is counted with a hundred rules of spend", async (here) => {
  const rule = ruleOf({ kind: "spend", usd: "1", period: "month" }, { groupBy: "model" });
  for (let n = 0; n < 100; n++) await here.putRule(`spend-${"x".repeat(50)}-${n}`, rule, NOON);
  const events = Array.from(
    { length: 20 },
    (_, n) => aCall(n + 1, "known", `${"m".repeat(240)}${n}`),
  );
  await here.runs.open(TEAM, { id: run(1), agent: "a", startedAt: NOON }, NOON);
  await here.runs.append(TEAM, run(1), events, NOON);
  await here.work();
  assertEquals((await here.ruleRows()).filter((row) => row.includes("spend")).length, 100);
  await here.until(NOON + MINUTE);
});

AlertProcess.test("a run that is dear for a hundred rules opens incidents of ten", async (here) => {
  for (let n = 0; n < 20; n++) await here.putMail(`mail-${"x".repeat(50)}-${n}`);
  const rule = ruleOf({ kind: "run_cost", usd: "1" }, { groupBy: "customer" });
  for (let n = 0; n < 100; n++) await here.putRule(`cost-${"x".repeat(50)}-${n}`, rule, NOON);
  const names = { agent: "a".repeat(128), customerId: "\u4e00".repeat(256) };
  await here.runs.heartbeat(TEAM, {
    ...{ id: run(1), status: "ok", startedAt: NOON, ...names },
    reported: { cost: picodollars(2) },
  }, NOON);
  await here.work();
  await here.until(NOON + MINUTE);
  assertEquals(await ends(here), { open: 10 });
});

AlertProcess.test("a changed rule ends what its earlier version opened, behind many newer groups", async (here) => {
  await here.setRule("failures", ruleOf(FAILED, { groupBy: "customer" }));
  await here.close(1, "failed", NOON, { customerId: "z" });
  await here.work();
  await here.until(NOON + MINUTE);
  await here.setRule("failures", ruleOf({ ...FAILED, consecutive: 2 }, { groupBy: "customer" }));
  const rule = await here.rules.read(TEAM, "failures") as Rule;
  const sets = Array.from({ length: 1_010 }, (_, n) => {
    const group = { text: `=c${n}`, group: { customer: `c${n}` } };
    return instanceSet(TEAM.id, newInstance(rule, group));
  });
  for (const some of groupsOf(sets, 500)) {
    const rows = { sets: some, deletes: [] };
    const plan = () => Promise.resolve({ result: null, rows });
    await here.updater.commitPlan(TEAM.id, "clock", plan);
  }
  await here.until(NOON + 2 * MINUTE);
  assertEquals(await ends(here), { rule: 1 });
});

AlertProcess.test("spend over the limit in a new period ends many incidents of the one before", async (here) => {
  for (const slug of ["ops", "boss", "team"]) await here.putMail(slug);
  const spend = async (from: number) => {
    for (let n = 0; n < 40; n++) {
      await here.runs.heartbeat(TEAM, {
        ...{ id: run(from + n), agent: "a", status: "ok", startedAt: here.nowMs },
        ...{ customerId: `c${n}`, reported: { cost: picodollars(2) } },
      }, here.nowMs);
    }
    await here.work();
  };
  const rule = ruleOf({ kind: "spend", usd: "1", period: "day" }, { groupBy: "customer" });
  await here.setRule("cost", rule);
  await spend(1);
  for (let second = 2; second <= 6; second++) await here.until(NOON + second * 1_000);
  assertEquals(await ends(here), { open: 40 });
  here.nowMs = NOON + 12 * HOUR;
  await spend(100);
  // An evaluation of the rule before those at the ends of its groups.
  await here.file("cost");
  for (let second = 1; second <= 20; second++) await here.until(NOON + 12 * HOUR + second * 1_000);
  assertEquals(await ends(here), { condition: 40, open: 40 });
});

AlertProcess.test("the spend of a customer with a long name is found", async (here) => {
  const rule = ruleOf({ kind: "spend", usd: "1", period: "day" }, { groupBy: "customer" });
  await here.setRule("cost", rule);
  await here.until(NOON);
  for (const [n, customerId] of ["\u4e00".repeat(256), "c".repeat(253), "c".repeat(9)].entries()) {
    await here.runs.heartbeat(TEAM, {
      ...{ id: run(n + 1), agent: "a", status: "ok", startedAt: NOON, customerId },
      reported: { cost: picodollars(2) },
    }, NOON);
  }
  await here.work();
  await here.until(NOON + MINUTE);
  assertEquals(await ends(here), { open: 3 });
});

/** A process with a rule of which all groups but some fire already. */
async function almostFull(temp: TempStore, rule: string, left: number): Promise<AlertProcess> {
  const here = new AlertProcess(temp.store);
  await here.rules.remove(TEAM, "stuck", { by: "key_1", at: NOON });
  const firing = FIRING_GROUPS_MAX - left;
  const state = { [rule]: { instances: firing, firing, overflow: null } };
  const sets = [{ key: keys.alertState(TEAM.id), value: state }];
  const rows = { sets, deletes: [] };
  await here.updater.commitPlan(TEAM.id, "clock", () => Promise.resolve({ result: null, rows }));
  return here;
}

TempStore.test("groups that wait for an incident count as firing", async (temp) => {
  const here = await almostFull(temp, "failures", 40);
  await here.putMail("ops");
  const failed = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;
  await here.setRule("failures", ruleOf(failed, { groupBy: "customer" }));
  const numbers = Array.from({ length: 60 }, (_, n) => n + 1);
  for (const n of numbers) await here.close(n, "failed", NOON, { customerId: `c${n}` });
  await here.pipeline.project(TEAM.id, numbers.map(run));
  for (let minute = 1; minute <= 5; minute++) await here.until(NOON + minute * MINUTE);
  const open = await here.states();
  assertEquals(open.length, 41);
  assertEquals(open.filter((text) => text.includes("(other)")), ["failures (other) 20 open"]);
});

TempStore.test("spend of groups that share an incident is found once", async (temp) => {
  const here = await almostFull(temp, "cost", 0);
  for (let n = 1; n <= 60; n++) {
    await here.runs.heartbeat(TEAM, {
      ...{ id: run(n), agent: "a", status: "ok", startedAt: NOON, customerId: `c${n}` },
      reported: { cost: picodollars(2) },
    }, NOON);
  }
  await here.work();
  const spend = { kind: "spend", usd: "1", period: "month" } as const;
  await here.setRule("cost", ruleOf(spend, { groupBy: "customer" }));
  for (let minute = 1; minute <= 3; minute++) await here.until(NOON + minute * MINUTE);
  assertEquals(await here.states(), ["cost (other) 1 open"]);
  assertEquals((await here.ruleRows()).length, 1);
});

TempStore.test("stuck runs of groups that share an incident are reported once a day", async (temp) => {
  const here = await almostFull(temp, "hang", 0);
  await here.runs.open(TEAM, { id: run(1), agent: "a", startedAt: NOON }, NOON);
  await here.work();
  await here.setRule("hang", ruleOf({ kind: "stuck", seconds: 60 }, { groupBy: "agent" }));
  for (let hour = 1; hour <= 40; hour++) await here.until(NOON + hour * HOUR);
  assertEquals(await here.states(), ["hang (other) 1 quiet", "hang (other) 1 open"]);
});
