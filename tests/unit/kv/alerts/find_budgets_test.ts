/** Rules of the kind `budget`: one incident for each mark, period and group of a budget. */
import { assertEquals } from "@std/assert";
import { BUDGETS, type BudgetSettings } from "../../../../domain/budgets/budget.ts";
import { picodollars } from "../../../../domain/pricing/money.ts";
import { createConfigStore } from "../../../../kv/config/object_store.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { MINUTE } from "../../../support/harness/monitor_process.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

const ACME: BudgetSettings = {
  scope: { customer_id: "acme" },
  period: "day",
  limit_usd: "10",
  mode: "observe",
  warn_at: [0.5, 0.8],
  enabled: true,
};

/** A process whose budgets can be set and whose runs cost something. */
class Budgets extends AlertProcess {
  #runs = 0;
  readonly #budgets = createConfigStore(
    { store: this.store, changes: this.updater, region: "eu", environment: this.environment },
    BUDGETS,
  );

  async set(slug: string, settings: Partial<BudgetSettings> = {}): Promise<void> {
    const made = { by: "key_1", at: this.nowMs };
    await this.#budgets.put(TEAM, slug, { ...ACME, ...settings }, null, made);
    await this.until(this.nowMs + MINUTE);
  }

  async delete(slug: string): Promise<void> {
    await this.#budgets.remove(TEAM, slug, { by: "key_1", at: this.nowMs });
    await this.until(this.nowMs + MINUTE);
  }

  /** Reports a run of a customer, and evaluates what is due. */
  async spend(usd: number, customerId: string | null = "acme"): Promise<void> {
    const at = this.nowMs;
    await this.runs.heartbeat(TEAM, {
      ...{ id: run(++this.#runs), agent: "a", status: "ok", startedAt: at },
      ...customerId === null ? {} : { customerId },
      reported: { cost: picodollars(usd) },
    }, at);
    await this.work();
    await this.until(this.nowMs + MINUTE);
  }
}

for (
  const [period, words, end] of [
    ["day", "today", "2026-11-22"],
    ["week", "this week", "2026-11-23"],
    ["month", "this month", "2026-12-01"],
  ] as const
) {
  Deno.test(`budgets (9): each mark is reported once a ${period}, ends with it, and begins again`, async () => {
    await using temp = await TempStore.open();
    const here = new Budgets(temp.store);
    await here.putMail("ops");
    await here.set("acme", { period });
    await here.spend(4.999999999999);
    assertEquals(await here.states(), []);
    await here.spend(0.000000000001);
    assertEquals(await here.states(), ["budgets =0.5 acme acme 1 open"]);
    await here.spend(5);
    const all = ["0.5", "0.8", "1"].map((mark) => `budgets =${mark} acme acme 1`);
    assertEquals(await here.states(), all.map((text) => `${text} open`));
    assertEquals((await here.incidents()).map(({ title }) => title), [
      `Customer acme has used 50 % of the budget acme: $5.00 of $10 ${words}`,
      `Customer acme has used 80 % of the budget acme: $10.00 of $10 ${words}`,
      `Customer acme has used up the budget acme: $10.00 of $10 ${words}`,
    ]);
    // A mark that was reported stays, and is not reported again.
    await here.spend(7);
    await here.file("*budget");
    await here.until(Date.parse(end) - 1);
    assertEquals(await here.states(), all.map((text) => `${text} open`));
    await here.until(Date.parse(end) + 1);
    assertEquals(await here.states(), all.map((text) => `${text} condition`));
    await here.spend(6);
    assertEquals((await here.states()).slice(3), ["budgets =0.5 acme acme 1 open"]);
    assertEquals((await here.messages()).length, 7);
    assertEquals((await verifyStore(temp.store, { pauseMs: 0 })).differences, []);
  });
}

Deno.test("budget rule: each group for itself; other limits, marks and budgets end what was reported", async () => {
  await using temp = await TempStore.open();
  const here = new Budgets(temp.store);
  await here.spend(6, "acme");
  await here.spend(7, "zeta");
  await here.spend(2, null);
  assertEquals(await here.states(), []);
  // Spend from before the budget counts.
  await here.set("each", { scope: { each: "customer" }, warn_at: [0.6], period: "month" });
  await here.set("team", { scope: {}, warn_at: [0.9], limit_usd: "16.5" });
  await here.set("run", { scope: {}, period: "run", limit_usd: "0.1" });
  const open = async () =>
    (await here.states()).filter((text) => text.endsWith("open"))
      .map((text) => text.replace(/^budgets =| 1 open$/g, ""));
  assertEquals(await open(), ["0.6 each acme", "0.6 each zeta", "0.9 team "]);
  assertEquals(
    (await here.incidents())[2]?.title,
    "The team has used 90 % of the budget team: $15.00 of $16.5 today",
  );
  await here.spend(4, "acme");
  assertEquals(await open(), [
    "0.6 each acme",
    "0.6 each zeta",
    "0.9 team ",
    "1 each acme",
    "1 team ",
  ]);
  await here.set("each", {
    scope: { each: "customer" },
    warn_at: [0.6],
    period: "month",
    limit_usd: "16",
  });
  await here.delete("team");
  assertEquals(await open(), ["0.6 each acme"]);
  await here.set("each", { scope: { each: "customer" }, warn_at: [0.6], enabled: false });
  assertEquals(await open(), []);
  await here.set("each", { scope: { each: "customer" } });
  assertEquals(
    await open(),
    ["0.5 each acme", "0.8 each acme", "1 each acme", "0.5 each zeta"].sort(),
  );
  // Another scope has other groups.
  await here.set("each", { scope: { customer_id: "zeta" } });
  assertEquals(await open(), ["0.5 each zeta"]);
});
