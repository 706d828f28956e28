/** Names of evaluations, and periods of spend. */
import { assertEquals } from "@std/assert";
import { spendPeriodOf } from "../../../../domain/alerts/instance.ts";
import { groupName, kindName, targetOf } from "../../../../domain/alerts/signal.ts";
import { RULE_KINDS } from "../../../../domain/alerts/rule.ts";
import { formatInstant, parseInstant } from "../../../../domain/core/time.ts";

Deno.test("evaluations: each name asks for one", () => {
  for (const kind of RULE_KINDS) assertEquals(targetOf(kindName(kind)), { of: "kind", kind });
  assertEquals(targetOf("quota"), { of: "rule", rule: "quota" });
  assertEquals(targetOf(groupName("a.b", "x *y z")), { of: "group", rule: "a.b", group: "x *y z" });
  assertEquals(targetOf(groupName("a", "")), { of: "group", rule: "a", group: "" });
  assertEquals(targetOf("*nothing"), null);
});

Deno.test("spend periods: days, weeks from Monday, and months, in UTC", () => {
  const periodOf = (period: "day" | "week" | "month", at: string) => {
    const { startMs, endMs } = spendPeriodOf(period, parseInstant(at) as number);
    return [startMs, endMs].map((ms) => formatInstant(ms).slice(0, 16));
  };
  assertEquals(periodOf("day", "2026-11-23T00:00:00Z"), ["2026-11-23T00:00", "2026-11-24T00:00"]);
  assertEquals(periodOf("day", "2026-11-22T23:59:59Z"), ["2026-11-22T00:00", "2026-11-23T00:00"]);
  // 23 November 2026 is a Monday.
  assertEquals(periodOf("week", "2026-11-23T00:00:00Z"), ["2026-11-23T00:00", "2026-11-30T00:00"]);
  assertEquals(periodOf("week", "2026-11-22T23:59:59Z"), ["2026-11-16T00:00", "2026-11-23T00:00"]);
  assertEquals(periodOf("week", "2027-01-01T12:00:00Z"), ["2026-12-28T00:00", "2027-01-04T00:00"]);
  assertEquals(periodOf("month", "2026-12-31T23:59:59Z"), ["2026-12-01T00:00", "2027-01-01T00:00"]);
  assertEquals(periodOf("month", "2028-02-29T12:00:00Z"), ["2028-02-01T00:00", "2028-03-01T00:00"]);
});
