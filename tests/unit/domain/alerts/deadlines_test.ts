/** Deadlines of groups that fire. */
import { assertEquals } from "@std/assert";
import { endOf, repeatDueAt } from "../../../../domain/alerts/instance.ts";
import type { RuleCondition } from "../../../../domain/alerts/rule.ts";

const NOON = Date.UTC(2026, 10, 23, 12);
const HOUR = 3_600_000;

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
  const checks = { checks: [], severityMin: "warn", consecutive: 1 } as const;
  assertEquals(end({ kind: "check_failed", ...checks }), null);
  assertEquals(end({ kind: "run_failed", statuses: ["failed"], consecutive: 1 }), null);
});

Deno.test("messages are repeated while the incident is open", () => {
  const due = (renotifySeconds: number, changed = {}) => {
    const incident = { notifiedAt: NOON, state: "open", ...changed } as const;
    const at = repeatDueAt({ renotifySeconds }, incident);
    return at === null ? null : (at - NOON) / HOUR;
  };
  assertEquals(due(2 * 3_600), 2);
  assertEquals(due(2 * 3_600, { state: "acknowledged" }), null);
  assertEquals(due(2 * 3_600, { notifiedAt: null }), null);
  assertEquals(due(0), null);
  assertEquals(due(604_800), 7 * 24);
});
