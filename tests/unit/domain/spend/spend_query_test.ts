import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RollupKind } from "../../../../domain/spend/rollup.ts";
import {
  daysOf,
  type Grouping,
  parseSpendQuery,
  SPEND_DAYS_MAX,
  spendPlanOf,
} from "../../../../domain/spend/spend_query.ts";
import type { SpendFilters } from "../../../../domain/runs/filters.ts";

const RANGE = { from: "2026-02-27", to: "2026-03-01" } as const;
const DAY_MS = 86_400_000;

Deno.test("spend: each query reads the kind with the fewest rows that can answer it", () => {
  const cases: readonly (readonly [Grouping, SpendFilters, RollupKind, RollupKind | null])[] = [
    ["day", {}, "total", null],
    ["agent", {}, "agent", null],
    ["status", {}, "status", null],
    ["day", { customer: null }, "customer", null],
    ["customer", { customer: "a" }, "customer", null],
    ["agent", { customer: "a" }, "cell", null],
    ["day", { agent: "a", status: "failed" }, "cell", null],
    ["day", { model: "m" }, "model", null],
    ["day", { provider: null }, "model", null],
    ["model", { model: "m", provider: "p" }, "model", null],
    ["agent", { model: "m" }, "model_cell", null],
    ["day", { feature: "a", provider: "p" }, "model_cell", null],
    ["model", {}, "model", "total"],
    ["model", { agent: "a" }, "model_cell", "agent"],
    ["model", { agent: "a", feature: null }, "model_cell", "cell"],
    ["model", { agent: "a", model: "m" }, "model_cell", null],
  ];
  for (const [groupBy, filters, groups, whole] of cases) {
    const plan = spendPlanOf({ ...RANGE, groupBy, filters });
    assertEquals(plan, { groups, whole }, `${groupBy} ${JSON.stringify(filters)}`);
  }
});

Deno.test("spend: a range is echoed as sent and contains each of its days once", () => {
  const first = fc.integer({ min: 0, max: 2_000_000 });
  const length = fc.integer({ min: 1, max: SPEND_DAYS_MAX });
  fc.assert(fc.property(first, length, (first, length) => {
    const text = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);
    const [from, to] = [text(first), text(first + length - 1)];
    const parsed = parseSpendQuery(`to=${to}&from=${from}`, 0);
    assertEquals(parsed, { from, to, groupBy: "day", filters: {} });
    const days = daysOf(parsed);
    assertEquals(days, Array.from({ length }, (_, i) => text(first + i)));
  }));
});

Deno.test("spend: today lasts from its first to its last millisecond", () => {
  const midnight = Date.UTC(2024, 1, 29);
  for (const [ms, to] of [[0, "29"], [DAY_MS - 1, "29"], [-1, "28"]] as const) {
    const parsed = parseSpendQuery("", midnight + ms);
    assertEquals(parsed.to, `2024-02-${to}`);
    assertEquals(daysOf(parsed).length, 30);
  }
});
