/** Verdicts of budgets and pauses: periods, states, their order, and the texts that tell them. */
import { assertEquals } from "@std/assert";
import { parseItem } from "structured-headers";
import type { Budget, BudgetSettings, Pause } from "../../../../domain/budgets/budget.ts";
import { BUDGETS, PAUSES } from "../../../../domain/budgets/budget.ts";
import {
  blockersOf,
  blockText,
  byBadness,
  daysInUse,
  decisionOf,
  groupOf,
  headerOf,
  judgeBudget,
  nextChangeMs,
  pausesOf,
  prepareBudget,
  spentIn,
} from "../../../../domain/budgets/verdict.ts";
import { picodollarsOf } from "../../../../domain/pricing/money.ts";
import { problemOf } from "../../../support/oracles/problems.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const STORED = { version: 1, createdAt: NOW, updatedAt: NOW, updatedBy: "key" };
const NOBODY = { agent: null, customer: null, feature: null };

function budget(settings: Partial<BudgetSettings> = {}, slug = "limit"): Budget {
  const defaults = { scope: {}, period: "month", limit_usd: "10", mode: "hard" } as const;
  return {
    ...STORED,
    slug,
    id: `grl_${slug}`,
    settings: { ...defaults, warn_at: [0.8], enabled: true, ...settings },
  };
}

function pause(settings: Partial<Pause["settings"]> = {}): Pause {
  return {
    ...STORED,
    slug: "stop",
    id: "gps_stop",
    settings: { reason: "Down", until: null, ...settings },
  };
}

function judged(usd: string, settings: Partial<BudgetSettings> = {}, slug?: string) {
  const spent = { cost: picodollarsOf(usd), unpricedCalls: 0 };
  return judgeBudget(prepareBudget(budget(settings, slug), NOW), null, spent, NOW);
}

Deno.test("a budget is used up at its limit, exactly, and its mode says what follows", () => {
  const states = (settings: Partial<BudgetSettings>) =>
    ["7.999999999999", "8", "9.999999999999", "10", "11"]
      .map((usd) => judged(usd, settings)).map(({ state, wouldHaveBlocked }) =>
        wouldHaveBlocked ? "observed" : state
      );
  assertEquals(states({ mode: "hard" }), ["ok", "warn", "warn", "block", "block"]);
  assertEquals(states({ mode: "soft" }), ["ok", "warn", "warn", "warn", "warn"]);
  assertEquals(states({ mode: "observe" }), ["ok", "ok", "ok", "observed", "observed"]);
  assertEquals(states({ warn_at: [0.9, 0.95] }), ["ok", "ok", "warn", "block", "block"]);
});

Deno.test("the spend of a period is that of its UTC days; weeks begin on Monday", () => {
  const days = daysInUse(NOW);
  assertEquals([days[0], days.at(-1), days.length], ["2026-11-01", "2026-11-30", 30]);
  // Each day costs its number.
  const spent = new Map(days.map((day) => [day, { cost: BigInt(day.slice(8)), unpricedCalls: 1 }]));
  const sums = (["day", "week", "month", "run"] as const).map((period) => {
    const { cost, unpricedCalls } = spentIn(prepareBudget(budget({ period }), NOW).days, spent);
    return [cost, unpricedCalls];
  });
  // Monday the 16th to Sunday the 22nd.
  assertEquals(sums, [[21n, 1], [133n, 7], [465n, 30], [0n, 0]]);
});

Deno.test("the days in use cover each period that holds them, at most 42", () => {
  for (let day = 0; day < 800; day++) {
    const nowMs = Date.UTC(2024, 0, 1, 23) + day * 86_400_000;
    const days = daysInUse(nowMs);
    const today = new Date(nowMs).toISOString().slice(0, 10);
    assertEquals(days.includes(today) && days.length <= 42, true, today);
    const weekday = (new Date(nowMs).getUTCDay() + 6) % 7;
    const monday = new Date(nowMs - weekday * 86_400_000).toISOString().slice(0, 10);
    assertEquals(days.includes(monday) && days.includes(`${today.slice(0, 8)}01`), true, today);
  }
});

Deno.test("a scope has the runs of its label, or each value of it", () => {
  const subject = { agent: "a", customer: null, feature: "f" };
  const groups = [{}, { agent: "a" }, { agent: "b" }, { customer_id: "c" }, { each: "feature" }, {
    each: "customer",
  }].map((scope) => groupOf(budget({ scope: scope as Budget["settings"]["scope"] }), subject));
  assertEquals(groups, [
    { kind: "total" },
    { kind: "agent", value: "a" },
    null,
    null,
    { kind: "feature", value: "f" },
    null,
  ]);
});

Deno.test("the worst is first: state, then share, then slug", () => {
  const budgets = [
    judged("11", { mode: "soft" }, "soft"),
    judged("9", {}, "b"),
    judged("9", {}, "a"),
    judged("10", {}, "block"),
    judged("100", { mode: "observe" }, "observe"),
    judged("1.9", { limit_usd: "2" }, "share"),
  ].sort(byBadness);
  assertEquals(budgets.map(({ budget: { slug } }) => slug), [
    "block",
    "soft",
    "share",
    "a",
    "b",
    "observe",
  ]);
  assertEquals(blockersOf({ pauses: [pause()], budgets }), ["gps_stop", "grl_block"]);
});

Deno.test("headers are items of RFC 9651 with at most three decimals, never rounded up", () => {
  const header = (usd: string, settings: Partial<BudgetSettings> = {}) =>
    headerOf({ pauses: [], budgets: [judged(usd, settings)] }, NOW + 2_999, null);
  assertEquals(header("7"), "allow");
  assertEquals(header("9.9999"), 'warn;rule="grl_limit";spent=9.999;limit=10;age=2');
  assertEquals(header("10"), 'block;rule="grl_limit";spent=10;limit=10;age=2');
  assertEquals(header("0.00002", { limit_usd: "0.00001" }).includes("spent=0;limit=0;"), true);
  assertEquals(header("999999.0005", { limit_usd: "999999" }).includes("spent=999999;"), true);
  for (const usd of ["9.5", "10", "123456.789"]) {
    const [decision, parameters] = parseItem(header(usd));
    assertEquals(String(decision), usd === "9.5" ? "warn" : "block");
    assertEquals(parameters.get("limit"), 10);
  }
  const paused = { pauses: [pause()], budgets: [judged("10")] };
  assertEquals(headerOf(paused, NOW, null), 'block;rule="gps_stop"');
  assertEquals(decisionOf({ pauses: [], budgets: [] }), "allow");
});

Deno.test("a ping token sees the spend of its own agent alone", () => {
  const header = (scope: Budget["settings"]["scope"]) =>
    headerOf({ pauses: [], budgets: [judged("10", { scope })] }, NOW, "mine");
  const full = 'block;rule="grl_limit";spent=10;limit=10;age=0';
  assertEquals([header({ agent: "mine" }), header({ each: "agent" })], [full, full]);
  assertEquals(
    [header({}), header({ customer_id: "mine" })],
    Array(2).fill(full.split(";spent")[0]),
  );
  const text = (scope: Budget["settings"]["scope"]) =>
    blockText({ pauses: [], budgets: [judged("10", { scope })] }, "mine");
  assertEquals(text({}), "limit A budget of the team is used up");
  const own = "limit 10 of 10 US dollars are spent this month, until 2026-12-01T00:00:00.000Z";
  assertEquals(text({ agent: "mine" }), own);
});

Deno.test("pauses hold until their end, for their label", () => {
  const config = { budgets: [], pauses: [pause({ agent: "a", until: NOW + 1 }), pause()] };
  const pausesAt = (agent: string | null, nowMs: number) =>
    pausesOf(config, { ...NOBODY, agent }, nowMs).length;
  assertEquals([
    pausesAt("a", NOW),
    pausesAt("b", NOW),
    pausesAt(null, NOW),
    pausesAt("a", NOW + 1),
  ], [2, 1, 1, 1]);
  assertEquals(nextChangeMs(config, NOW), NOW + 1);
  assertEquals(nextChangeMs({ ...config, budgets: [budget()] }, NOW + 1), Date.UTC(2026, 10, 22));
});

Deno.test("bodies: one scope, amounts by their digits, defaults, and what is refused", () => {
  const least = { scope: { agent: "a" }, period: "run", limit_usd: 0.5 };
  assertEquals(BUDGETS.parse(least, NOW), {
    settings: {
      scope: { agent: "a" },
      period: "run",
      limit_usd: "0.5",
      mode: "observe",
      warn_at: [0.8],
      enabled: true,
    },
    version: null,
  });
  const refused = (fields: Record<string, unknown>) =>
    problemOf(() => BUDGETS.parse({ ...least, ...fields }, NOW))?.field ?? null;
  assertEquals(refused({ scope: { agent: "a", feature: "f" } }), "scope");
  assertEquals(refused({ scope: { each: "agent" } }), "scope");
  assertEquals(refused({ scope: { customer_id: "c" } }), "scope");
  assertEquals(refused({ warn_at: [0.5, 0.6, 0.7, 0.8] }), "warn_at");
  assertEquals(refused({ warn_at: [0.9, 0.5, 0.5] }), null);
  assertEquals(refused({ limit_usd: "1e3" }), "limit_usd");
  const parsed = PAUSES.parse({ agent: "a", reason: "r", until: null }, NOW);
  assertEquals(parsed.settings, { agent: "a", reason: "r", until: null });
});
