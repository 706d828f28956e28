/** More groups than a rule may have incidents for: they share one. */
import { assertEquals } from "@std/assert";
import { FIRING_GROUPS_MAX } from "../../../../domain/alerts/rule.ts";
import { picodollars } from "../../../../domain/pricing/money.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { ruleOf } from "../../../support/builders/alert_rules.ts";
import { HOUR, MINUTE } from "../../../support/harness/monitor_process.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

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
