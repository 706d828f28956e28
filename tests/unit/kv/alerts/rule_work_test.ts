/** Evaluation of alert rules: what no outcome of a run reports. */
import { assertEquals } from "@std/assert";
import { picodollars } from "../../../../domain/pricing/money.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import { aCall, run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { ruleOf } from "../../../support/builders/alert_rules.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { HOUR, MINUTE } from "../../../support/harness/monitor_process.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

const DAY = 24 * HOUR;

/** A run of a customer that cost something; it is summarized. */
async function spend(process: AlertProcess, n: number, usd: number, customerId: string) {
  const at = process.nowMs;
  await process.runs.heartbeat(TEAM, {
    ...{ id: run(n), agent: "a", status: "ok", startedAt: at, customerId },
    reported: { cost: picodollars(usd) },
  }, at);
  await process.work();
}

AlertProcess.test("spend: opens once a period, ends with it, and opens again in the next one", async (here) => {
  await here.putMail("ops");
  await here.setRule(
    "cost",
    ruleOf({ kind: "spend", usd: "1", period: "day" }, { groupBy: "customer" }),
  );
  await spend(here, 1, 0.9999999, "acme");
  await spend(here, 2, 5, "zeta");
  await here.until(NOON + MINUTE);
  assertEquals(await here.states(), ["cost =zeta 1 open"]);
  await spend(here, 3, 0.0000001, "acme");
  for (const name of ["cost =zeta", "cost"]) await here.file(name);
  await here.until(NOON + 2 * MINUTE);
  assertEquals(await here.states(), ["cost =zeta 1 open", "cost =acme 1 open"]);
  assertEquals((await here.incidents())[1]?.value, 1);
  // It stays although the sum falls.
  await here.file("cost =acme");
  await here.until(NOON + 12 * HOUR - 1);
  assertEquals(await here.states(), ["cost =zeta 1 open", "cost =acme 1 open"]);
  await here.until(NOON + 12 * HOUR);
  assertEquals(await here.states(), ["cost =zeta 1 condition", "cost =acme 1 condition"]);
  assertEquals((await here.incidents()).map(({ resolvedAt }) => resolvedAt), [
    NOON + 12 * HOUR,
    NOON + 12 * HOUR,
  ]);
  await spend(here, 4, 2, "acme");
  await here.until(NOON + 13 * HOUR);
  assertEquals((await here.states()).at(-1), "cost =acme 1 open");
  assertEquals(await here.ruleRows(), ["2160 cost =acme"]);
  assertEquals((await verifyStore(here.store, { pauseMs: 0 })).differences, []);
});

AlertProcess.test("stuck: opens at the limit, counts each run once, ends with the last one", async (here) => {
  await here.putMail("ops");
  const rule = ruleOf({ kind: "stuck", seconds: 3_600 }, { groupBy: "agent" });
  await here.rules.remove(TEAM, "stuck", { by: "key_1", at: NOON });
  const open = async (n: number, at: number, agent = "a") => {
    await here.runs.open(TEAM, { id: run(n), agent, startedAt: at }, at);
    await here.work();
  };
  await open(1, NOON);
  await open(2, NOON + 10 * MINUTE);
  await open(3, NOON, "b");
  await here.setRule("hang", rule);
  await here.until(NOON + 20 * MINUTE);
  assertEquals(await here.ruleRows(), ["61 hang"]);
  assertEquals(await here.states(), []);
  await here.until(NOON + 61 * MINUTE);
  assertEquals(await here.states(), ["hang =a 1 open", "hang =b 1 open"]);
  const first = (await here.incidents()).find(({ groupText }) => groupText === "=a");
  assertEquals([first?.openedAt, first?.runs, first?.value], [NOON + HOUR, [run(1)], 3_600]);
  for (let minute = 62; minute < 80; minute++) await here.until(NOON + minute * MINUTE);
  assertEquals(await here.states(), ["hang =a 2 open", "hang =b 1 open"]);
  const finish = async (n: number) => {
    const at = here.nowMs;
    await here.runs.finish(TEAM, run(n), { status: "success", finishedAt: at }, at);
    await here.work();
  };
  await finish(1);
  await here.until(NOON + 81 * MINUTE);
  assertEquals(await here.states(), ["hang =a 2 open", "hang =b 1 open"]);
  await finish(2);
  await finish(3);
  await here.until(NOON + 82 * MINUTE);
  assertEquals(await here.states(), ["hang =a 2 condition", "hang =b 1 condition"]);
  assertEquals(await here.ruleRows(), [], "nothing is open");
});

AlertProcess.test("stuck: a child run opens an incident only by a rule about all runs (R32)", async (here) => {
  await here.setRule("roots", ruleOf({ kind: "stuck", seconds: 3_600 }));
  await here.setRule("all", ruleOf({ kind: "stuck", seconds: 3_600, runs: "all" }));
  const child = { id: run(2), agent: "a", startedAt: NOON, parentRunId: run(1) };
  await here.runs.open(TEAM, child, NOON);
  await here.work();
  await here.until(NOON + 61 * MINUTE);
  assertEquals(await here.states(), ["all 1 open"]);
});

AlertProcess.test("stuck: an absence of the service excuses runs", async (here) => {
  await here.runs.open(TEAM, { id: run(1), agent: "a", startedAt: NOON }, NOON);
  await here.work();
  await here.setRule("stuck", ruleOf({ kind: "stuck", seconds: 3_600 }));
  const absence = { fromMs: NOON + 50 * MINUTE, untilMs: NOON + 70 * MINUTE };
  await here.until(NOON + 70 * MINUTE, [absence]);
  assertEquals(await here.states(), []);
  assertEquals(await here.ruleRows(), ["86 stuck", "1440 stuck"]);
  await here.until(NOON + 86 * MINUTE, [absence]);
  assertEquals(await here.states(), ["stuck 1 open"]);
});

AlertProcess.test("quota: opens at the first mark, counts the second one, ends with the month", async (here) => {
  await here.putMail("ops");
  await here.notice(80);
  await here.until(NOON);
  await here.until(NOON + HOUR);
  assertEquals(await here.states(), ["quota 1 open"]);
  await here.notice(100);
  await here.until(NOON + 2 * HOUR);
  assertEquals(await here.states(), ["quota 2 open"]);
  const end = Date.UTC(2026, 11, 1);
  await here.until(end - 1);
  assertEquals(await here.states(), ["quota 2 open"]);
  await here.until(end);
  assertEquals(await here.states(), ["quota 2 condition"]);
  assertEquals(await here.messages(), [
    "opened The team has used 80 % of this month's events",
    "resolved The team has used 100 % of this month's events",
  ]);
  assertEquals(await here.ruleRows(), []);
});

AlertProcess.test("quota: both marks at once open one incident that names the higher one (R39)", async (here) => {
  await here.putMail("ops");
  await here.notice(80);
  await here.notice(100);
  await here.until(NOON);
  assertEquals(await here.messages(), ["opened The team has used 100 % of this month's events"]);
});

AlertProcess.test("service: opens with a trouble, ends when none of its kind is left", async (here) => {
  const dead = keys.runFailure(TEAM.id, run(1));
  const failure = { work: "cost", tries: 8, at: NOON, error: "Error: odd" };
  const broken = keys.channelHealth(TEAM.id, "ops");
  await here.putMail("ops");
  await here.store.writer.commit({ sets: [{ key: dead, value: failure }] });
  await here.file("*service");
  await here.until(NOON);
  assertEquals(await here.states(), ["service 1 open"]);
  await here.store.writer.commit({ sets: [{ key: broken, value: { state: "broken" } }] });
  await here.until(NOON + MINUTE);
  assertEquals(await here.states(), ["service 2 open"]);
  const [{ title } = { title: "" }] = await here.incidents();
  assertEquals(title, "Channel ops is broken and receives no messages");
  await here.store.writer.commit({ deletes: [dead] });
  await here.until(NOON + 2 * MINUTE);
  assertEquals(await here.states(), ["service 2 open"]);
  await here.store.writer.commit({ sets: [{ key: broken, value: { state: "ok" } }] });
  await here.until(NOON + 3 * MINUTE);
  assertEquals(await here.states(), ["service 2 condition"]);
  assertEquals(await here.ruleRows(), []);
});

AlertProcess.test("a changed rule ends what its earlier version opened, and finds what is true", async (here) => {
  await here.putMail("ops");
  const rule = ruleOf({ kind: "spend", usd: "1", period: "day" });
  await spend(here, 1, 3, "acme");
  await here.setRule("cost", rule);
  await here.until(NOON);
  await here.setRule("cost", ruleOf({ kind: "spend", usd: "2", period: "day" }));
  await here.until(NOON + MINUTE);
  // What is true is found once the earlier version is ended.
  await here.until(NOON + MINUTE + 1_000);
  assertEquals(await here.states(), ["cost 1 rule", "cost 1 open"]);
  await here.setRule("cost", ruleOf({ kind: "spend", usd: "4", period: "day" }));
  await here.until(NOON + 2 * MINUTE);
  assertEquals(await here.states(), ["cost 1 rule", "cost 1 rule"]);
  await here.setRule("cost", rule);
  await here.until(NOON + 3 * MINUTE);
  await here.rules.remove(TEAM, "cost", { by: "key_1", at: here.nowMs });
  await here.until(NOON + 4 * MINUTE);
  await here.until(NOON + 5 * MINUTE);
  assertEquals(await here.states(), ["cost 1 rule", "cost 1 rule", "cost 1 rule"]);
  assertEquals(await here.ruleRows(), []);
});

AlertProcess.test("a message is repeated while an incident is open, and held back by a silence", async (here) => {
  await here.putMail("ops");
  await here.silenceUntil(NOON + 2 * HOUR);
  await spend(here, 1, 3, "acme");
  const cost = ruleOf({ kind: "spend", usd: "1", period: "month" }, { renotifySeconds: 86_400 });
  await here.setRule("cost", cost);
  await here.until(NOON + HOUR);
  assertEquals(await here.states(), ["cost 1 open"]);
  assertEquals(await here.messages(), []);
  await here.until(NOON + 2 * HOUR);
  const title = "The team spent $3.00 this month: the limit is $1";
  assertEquals(await here.messages(), [`opened ${title}`]);
  await here.until(NOON + DAY);
  assertEquals(await here.messages(), [`opened ${title}`]);
  await here.until(NOON + DAY + 2 * HOUR);
  await here.until(NOON + DAY + 3 * HOUR);
  assertEquals((await here.messages()).map((text) => text.split(" ")[0]), ["opened", "updated"]);
  // A silence that ends early.
  await here.silenceUntil(NOON + 5 * DAY);
  await here.until(NOON + 3 * DAY);
  assertEquals((await here.messages()).length, 2);
  await here.silences.remove(TEAM, "night", { by: "key_1", at: here.nowMs });
  await here.until(NOON + 3 * DAY + 2 * HOUR);
  await here.until(NOON + 4 * DAY);
  assertEquals((await here.messages()).length, 3);
});

TempStore.test("evaluations by two processes change nothing twice", async (temp) => {
  const [a, b] = [new AlertProcess(temp.store), new AlertProcess(temp.store)];
  await a.putMail("ops");
  for (const n of [1, 2, 3]) await spend(a, n, 3, `customer ${n}`);
  await a.notice(80);
  const cost = ruleOf({ kind: "spend", usd: "1", period: "day" }, { groupBy: "customer" });
  await a.setRule("cost", cost);
  const rows = await a.due(NOON);
  const turn = { nowMs: NOON, summarizedToMs: NOON, absences: [] };
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      [a, b].map(({ handlers: [rules] }) =>
        rules?.handle(rows, turn, new AbortController().signal)
      ),
    );
  }
  assertEquals((await a.states()).sort(), [
    "cost =customer 1 1 open",
    "cost =customer 2 1 open",
    "cost =customer 3 1 open",
    "quota 1 open",
  ]);
  assertEquals((await a.messages()).length, 4);
});

AlertProcess.test("unpriced: ends when the model has a price", async (here) => {
  await here.runs.open(TEAM, { id: run(1), agent: "a", startedAt: NOON }, NOON);
  await here.runs.append(TEAM, run(1), [aCall(5, "mystery", "acme")], NOON);
  await here.runs.append(TEAM, run(1), [aCall(6, "riddle", "acme")], NOON);
  await here.work();
  const both = ["unpriced =acme/mystery 1 open", "unpriced =acme/riddle 1 open"];
  assertEquals(await here.states(), both);
  await here.price("mystery");
  await here.until(NOON + HOUR);
  assertEquals(await here.states(), ["unpriced =acme/mystery 1 condition", both[1]]);
  await here.until(NOON + 7 * DAY - 1);
  assertEquals((await here.states())[1], both[1]);
  await here.until(NOON + 7 * DAY);
  assertEquals((await here.states())[1], "unpriced =acme/riddle 1 quiet");
  const call = async (n: number, days: number) => {
    here.nowMs = NOON + days * DAY;
    await here.runs.open(TEAM, { id: run(n), agent: "a", startedAt: here.nowMs }, here.nowMs);
    await here.runs.append(TEAM, run(n), [aCall(n, "riddle", "acme")], here.nowMs);
    await here.work();
    return (await here.states()).filter((text) => text.startsWith("unpriced")).length;
  };
  // Only the first call in 30 days opens an incident.
  assertEquals([await call(20, 10), await call(21, 39), await call(22, 70)], [2, 2, 3]);
});
