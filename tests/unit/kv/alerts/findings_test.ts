/** Findings of rules: spend of groups, and runs that are open for too long. */
import { assertEquals } from "@std/assert";
import type { RuleSettings } from "../../../../domain/alerts/rule.ts";
import { daysOf } from "../../../../domain/spend/spend_query.ts";
import { dollarsText, picodollars } from "../../../../domain/pricing/money.ts";
import { spendByGroup, spendOfGroup } from "../../../../kv/alerts/find_spend.ts";
import { createSpendStore } from "../../../../kv/spend/rollups.ts";
import { aCall, run, TEAM } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { HOUR, MINUTE, MonitorProcess } from "../../../support/harness/monitor_process.ts";
import { findStuckRuns } from "../../../../kv/alerts/find_stuck.ts";

const DAY = 86_400_000;
const ALL = { agents: [], customers: [], features: [] };

function rule(
  groupBy: RuleSettings["groupBy"],
  match: Partial<RuleSettings["match"]> = {},
): RuleSettings {
  return {
    condition: { kind: "spend", usd: "1", period: "week" },
    match: { ...ALL, ...match },
    groupBy,
    severity: "warning",
    resolveAfter: 1,
    renotifySeconds: 0,
    channels: [],
    enabled: true,
  };
}

MonitorProcess.test("spend of groups: exact, by the labels that a rule matches and groups by", async (here) => {
  const spent = async (n: number, usd: number, labels: Record<string, string>, days = 0) => {
    const at = NOON + days * DAY;
    await here.runs.heartbeat(TEAM, {
      ...{
        id: run(n),
        agent: "a",
        status: "ok",
        startedAt: at,
        reported: { cost: picodollars(usd) },
      },
      ...labels,
    }, at);
  };
  await spent(1, 0.1, { customerId: "acme", feature: "search" });
  await spent(2, 0.2, { customerId: "acme" }, 1);
  await spent(3, 0.4, { agent: "b", customerId: "zeta", feature: "search" });
  await spent(4, 0.8, { agent: "b" });
  // Outside of the days.
  await spent(5, 100, { customerId: "acme" }, 3);
  await here.runs.open(TEAM, { id: run(6), agent: "c", startedAt: NOON }, NOON);
  await here.runs.append(TEAM, run(6), [aCall(1_000)], NOON);
  await here.work();
  const spend = createSpendStore(here.store);
  const days = daysOf({ from: "2026-11-21", to: "2026-11-22" });
  const sums = async (settings: RuleSettings) => {
    const groups = await spendByGroup(spend, TEAM, settings, days);
    for (const [text, { cost }] of groups) {
      // One group alone has the same sum.
      assertEquals((await spendOfGroup(spend, TEAM, settings, text, days))?.cost, cost, text);
    }
    const texts = Array.from(groups, ([text, { cost }]) => `${text} ${dollarsText(cost)}`);
    return texts.sort();
  };
  const calls = "0.000000003005";
  assertEquals(await sums(rule(null)), [` 1.500000003005`]);
  assertEquals(await sums(rule("agent")), ["=a 0.3", "=b 1.2", `=c ${calls}`]);
  assertEquals(await sums(rule("customer")), [" 0.800000003005", "=acme 0.3", "=zeta 0.4"]);
  assertEquals(await sums(rule("feature", { customers: ["acme"] })), [" 0.2", "=search 0.1"]);
  assertEquals(await sums(rule(null, { agents: ["b*"] })), [" 1.2"]);
  assertEquals(await sums(rule("agent", { features: ["search"] })), ["=a 0.1", "=b 0.4"]);
  assertEquals(await sums(rule("model")), [`=known ${calls}`]);
  assertEquals(await sums(rule("model", { agents: ["b"] })), []);
  assertEquals(await spendOfGroup(spend, TEAM, rule("customer"), "(other)", days), null);
});

function at(nowMs: number, absences: { fromMs: number; untilMs: number }[] = []) {
  return { nowMs, summarizedToMs: nowMs, absences };
}

MonitorProcess.test("stuck runs: by the arrival of the opening, postponed by an absence", async (here) => {
  const open = (n: number, startedAt: number, arrival = startedAt) =>
    here.runs.open(TEAM, { id: run(n), agent: "a", startedAt }, arrival);
  await open(1, NOON);
  // It started first, and arrived an hour later.
  await open(2, NOON - MINUTE, NOON + HOUR);
  await open(3, NOON + 2 * HOUR);
  await here.close(4, NOON);
  await here.work();
  const find = async (turn: ReturnType<typeof at>) => {
    const { stuck, next, nextAt } = await findStuckRuns(here.store, TEAM.id, 86_400, null, turn);
    const runs = stuck.map(({ run, at, seconds }) => [run, (at - NOON) / HOUR, seconds / 3_600]);
    return { runs, next, nextAt: nextAt === null ? null : (nextAt - NOON) / HOUR };
  };
  assertEquals(await find(at(NOON)), { runs: [], next: null, nextAt: 24 - 1 / 60 });
  assertEquals(await find(at(NOON + DAY)), { runs: [[run(1), 24, 24]], next: null, nextAt: 25 });
  assertEquals(await find(at(NOON + 2 * DAY)), {
    runs: [[run(2), 25, 24], [run(1), 24, 24], [run(3), 26, 24]],
    next: null,
    nextAt: null,
  });
  // From 23:30 to 25:30 nothing was judged: clients get 15 minutes more.
  const absence = { fromMs: NOON + DAY - HOUR / 2, untilMs: NOON + DAY + 1.5 * HOUR };
  const back = at(NOON + DAY + 1.5 * HOUR, [absence]);
  assertEquals(await find(back), { runs: [], next: null, nextAt: 25.75 });
  assertEquals((await find({ ...back, nowMs: NOON + DAY + 1.75 * HOUR })).runs, [
    [run(2), 25.75, 24.75],
    [run(1), 25.75, 25.75],
  ]);
});
