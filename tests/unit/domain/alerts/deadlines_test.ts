/** Deadlines of groups that fire. */
import { assertEquals } from "@std/assert";
import { alertDueAt, endOf } from "../../../../domain/alerts/deadlines.ts";
import type { RuleCondition, RuleSettings } from "../../../../domain/alerts/rule.ts";

const NOON = Date.UTC(2026, 10, 23, 12);
const HOUR = 3_600_000, DAY = 24 * HOUR;

function rule(condition: RuleCondition, renotifySeconds = 0): RuleSettings {
  return {
    condition,
    match: { agents: [], customers: [], features: [] },
    groupBy: null,
    severity: "warning",
    resolveAfter: 1,
    renotifySeconds,
    channels: [],
    enabled: true,
  };
}

Deno.test("ends: by quiet, by the end of a period, or not by time", () => {
  const end = (condition: RuleCondition) => {
    const found = endOf(condition, NOON);
    return found === null ? null : [(found.at - NOON) / HOUR, found.by];
  };
  assertEquals(end({ kind: "run_cost", usd: "1" }), [24, "quiet"]);
  assertEquals(end({ kind: "unpriced" }), [7 * 24, "quiet"]);
  assertEquals(end({ kind: "spend", usd: "1", period: "day" }), [12, "condition"]);
  assertEquals(end({ kind: "spend", usd: "1", period: "week" }), [6.5 * 24, "condition"]);
  assertEquals(end({ kind: "quota", percents: [80] }), [7.5 * 24, "condition"]);
  assertEquals(end({ kind: "stuck", seconds: 60 }), null);
  assertEquals(end({ kind: "run_failed", statuses: ["failed"], consecutive: 1 }), null);
});

Deno.test("looks: at the end or the next message, whichever is first", () => {
  const times = { lastBadAt: NOON, notifiedAt: NOON + HOUR, isAcknowledged: false };
  const due = (rule: RuleSettings, changed = {}) => {
    const at = alertDueAt(rule, { ...times, ...changed });
    return at === null ? null : (at - NOON) / HOUR;
  };
  const cost: RuleCondition = { kind: "run_cost", usd: "1" };
  assertEquals(due(rule(cost, 2 * 3_600)), 3);
  assertEquals(due(rule(cost, 2 * 86_400)), 24);
  assertEquals(due(rule(cost, 2 * 3_600), { isAcknowledged: true }), 24);
  assertEquals(due(rule(cost, 2 * 3_600), { notifiedAt: null }), 24);
  const missed: RuleCondition = { kind: "missed", reasons: ["missed"] };
  assertEquals(due(rule(missed)), null);
  assertEquals(due(rule(missed, 300)), 1 + 300 / 3_600);
  assertEquals(due(rule(missed, 604_800), { notifiedAt: NOON + DAY }), 8 * 24);
});
