/** `/v1/spend`: cost of runs, over roll-ups written by the worker. */
import { assert, assertEquals } from "@std/assert";
import { reprice } from "../support/builders/reprice.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { AppDeps } from "../../routes/http/context.ts";
import { Harness } from "../support/harness/harness.ts";
import {
  aContribution,
  DOLLAR,
  LINE,
  NOTHING,
  storeSpend,
  TODAY,
  UNPRICED,
} from "../support/builders/spend.ts";
import { DEFAULT_RATES } from "../../domain/pricing/default_rates.ts";
import { PricedModels } from "../../domain/pricing/nearest_model.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";
import { anEvent, aRun, runId } from "../support/builders/requests.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import type { RateCardStore } from "../../kv/rate_cards/rate_cards.ts";

/** Keys and dollars of the groups of an answer. */
// deno-lint-ignore no-explicit-any -- any response
function costs(json: any): [string, number][] {
  return json.groups.map((group: { key: string; cost_usd: number }) => [group.key, group.cost_usd]);
}

Harness.test("GET /v1/spend: the default is the last 30 days by day, including zeros", async (h) => {
  await storeSpend(h, [aContribution(), aContribution({ day: "2026-10-23" })]);
  await storeSpend(h, [aContribution({ day: "2026-10-22" }), aContribution({ day: "2026-11-22" })]);
  const answer = await h.get("/v1/spend");
  assertEquals(answer.status, 200);
  assertEquals(answer.headers.get("content-type"), "application/json");
  const { groups, totals, ...requested } = answer.json;
  assertEquals(requested, { from: "2026-10-23", to: TODAY, group_by: "day", filters: {} });
  assertEquals(groups.length, 30);
  const one = {
    runs: 1,
    successful_runs: 1,
    cost_usd: 1,
    cost_per_successful_run: 1,
    events: 3,
    llm_calls: 2,
    input_tokens: 1_000,
    output_tokens: 100,
    cached_input_tokens: 200,
    unpriced: NOTHING.unpriced,
  };
  assertEquals(groups[0], { key: "2026-10-23", ...one });
  assertEquals(groups[1], { key: "2026-10-24", ...NOTHING });
  assertEquals(groups.at(-1), { key: TODAY, ...one });
  assertEquals([totals.runs, totals.cost_usd, totals.input_tokens], [2, 2, 2_000]);
});

Harness.test("GET /v1/spend: a range includes its first and last day, across months and leap days", async (h) => {
  const days = ["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"];
  await storeSpend(h, days.map((day) => aContribution({ day })));
  for (
    const [from, to, wanted] of [
      ["2024-02-28", "2024-03-01", days.slice(1, 4)],
      ["2024-02-29", "2024-02-29", ["2024-02-29"]],
      ["2024-02-28T23:59:59.999Z", "2024-02-29T00:00:00Z", days.slice(1, 3)],
      ["2024-02-28T12:00:00%2B00:00", "2024-02-29", days.slice(1, 3)],
    ] as const
  ) {
    const { json } = await h.get(`/v1/spend?from=${from}&to=${to}`);
    assertEquals(costs(json), wanted.map((day) => [day, 1]));
    assertEquals([json.from, json.to], [wanted[0], wanted.at(-1)]);
  }
  const last = (await h.get("/v1/spend?to=2024-03-01")).json;
  assertEquals([last.from, last.to, last.groups.length], ["2024-02-01", "2024-03-01", 30]);
  const longest = await h.get("/v1/spend?from=2023-01-01&to=2024-02-04");
  assertEquals([longest.status, longest.json.groups.length], [200, 400]);
  const none = (await h.get("/v1/spend?from=2023-02-28&to=2023-03-01")).json;
  assertEquals(costs(none), [["2023-02-28", 0], ["2023-03-01", 0]]);
  assertEquals(none.totals, NOTHING);
});

Harness.test("GET /v1/spend: each grouping lists its groups by falling cost, and they add up", async (h) => {
  const cheap = { ...LINE, model: "mini", provider: null, cost: 1n };
  await storeSpend(h, [
    aContribution({ labels: { agent: "a", customer: "acme", feature: "search" } }),
    aContribution({ labels: { agent: "b", status: "failed" }, models: [LINE, LINE, LINE] }),
    aContribution({ labels: { agent: null, customer: "(unattributed)" }, models: [cheap] }),
  ]);
  const expected = {
    agent: [["b", 3], ["a", 1], ["(unattributed)", 1e-12]],
    customer: [["(unattributed)", 3.000000000001], ["acme", 1]],
    feature: [["(unattributed)", 3.000000000001], ["search", 1]],
    status: [["failed", 3], ["success", 1.000000000001]],
    model: [["openai/gpt-4o", 4], ["mini", 1e-12], ["(unattributed)", 0]],
  };
  for (const [groupBy, groups] of Object.entries(expected)) {
    const { json } = await h.get(`/v1/spend?group_by=${groupBy}`);
    assertEquals(costs(json), groups as [string, number][], groupBy);
    assertEquals([json.totals.runs, json.totals.cost_usd], [3, 4.000000000001], groupBy);
    assertEquals(json.totals.successful_runs, 2);
    // Half of it plus half a picodollar, rounded up.
    assertEquals(json.totals.cost_per_successful_run, 2.000000000001);
  }
});

Harness.test("GET /v1/spend: by model names provider and model, and cost without a model has no runs", async (h) => {
  const heartbeat = aContribution({ models: [], cost: 5n * DOLLAR, events: 1 });
  await storeSpend(h, [aContribution({ models: [LINE, UNPRICED] }), heartbeat]);
  const { totals, groups } = (await h.get("/v1/spend?group_by=model")).json;
  const [none, known, unpriced] = groups;
  assertEquals(groups.length, 3);
  assertEquals(none, {
    ...NOTHING,
    key: "(unattributed)",
    provider: null,
    model: null,
    runs: null,
    successful_runs: null,
    cost_usd: 5,
    events: 2,
  });
  assertEquals([known.key, known.provider, known.model], ["openai/gpt-4o", "openai", "gpt-4o"]);
  assertEquals([known.runs, known.llm_calls, known.unpriced], [1, 2, NOTHING.unpriced]);
  assertEquals([unpriced.key, unpriced.runs, unpriced.cost_usd], ["openai/brand-new", 1, 0]);
  const tokens = {
    llm_calls: 1,
    input_tokens: 1_000,
    output_tokens: 100,
    cached_input_tokens: 200,
  };
  assertEquals(unpriced.unpriced, tokens);
  assertEquals([totals.runs, totals.cost_usd, totals.events], [2, 6, 5]);
  assertEquals(totals.unpriced, tokens);
});

Harness.test("GET /v1/spend: filters combine, and are echoed by the names they were sent by", async (h) => {
  const other = { ...LINE, provider: null, model: "gpt-4o", cost: 10n * DOLLAR };
  await storeSpend(h, [
    aContribution({ labels: { agent: "a", customer: "acme" } }),
    aContribution({ labels: { agent: "a" }, models: [LINE, other] }),
    aContribution({ labels: { agent: "b", customer: "acme", feature: "ä&+ b" } }),
    aContribution({ labels: { agent: "b", status: "running" }, models: [other] }),
  ]);
  for (
    const [query, cost, runs] of [
      ["agent=a", 12, 2],
      ["customer_id=acme", 2, 2],
      ["customer_id=(unattributed)", 21, 2],
      ["customer_id=%28unattributed%29&agent=b", 10, 1],
      ["feature=%C3%A4%26%2B+b", 1, 1],
      ["status=running", 10, 1],
      ["agent=a&customer_id=acme&status=success", 1, 1],
      ["agent=a&customer_id=acme&status=failed", 0, 0],
      ["agent=nobody", 0, 0],
      ["provider=openai", 3, 3],
      ["provider=(unattributed)", 20, 2],
      ["model=gpt-4o&provider=openai&agent=a", 2, 2],
      ["model=none", 0, 0],
      // The first of repeated parameters counts.
      ["agent=b&agent=a", 11, 2],
    ] as const
  ) {
    for (const groupBy of ["day", "agent", "customer", "feature", "status", "model"]) {
      const { json } = await h.get(`/v1/spend?${query}&group_by=${groupBy}`);
      assertEquals([json.totals.cost_usd, json.totals.runs], [cost, runs], `${query} ${groupBy}`);
      const sum = costs(json).reduce((sum, [, cost]) => sum + cost, 0);
      assertEquals(sum, cost, `${query} ${groupBy}`);
    }
  }
  const { json } = await h.get("/v1/spend?customer_id=(unattributed)&status=running&provider=x");
  assertEquals(json.filters, { customer_id: "(unattributed)", provider: "x", status: "running" });
});

Deno.test("GET /v1/spend: a failing store is 503 without details", async () => {
  const spend: AppDeps["spend"] = {
    // deno-lint-ignore require-yield -- it fails before the first row
    async *rows() {
      await Promise.resolve();
      throw new StorageUnavailable("Cannot list roll-ups: secret detail");
    },
    ask: (_, work) => work(),
    some: () => Promise.reject(new StorageUnavailable("Cannot read roll-ups: secret detail")),
  };
  await using h = await Harness.open({ deps: { spend } });
  for (const path of ["/v1/spend", "/v1/spend?group_by=model", "/v1/spend/unpriced"]) {
    const answer = await h.get(path);
    assertEquals([answer.status, answer.json.error], [503, "storage_unavailable"]);
    assert(!answer.text.includes("secret"));
  }
});

const DEFAULT_MODELS = new PricedModels(DEFAULT_RATES.rows);

const ROW: RateRow = {
  id: "row_1",
  source: "default",
  provider: "openai",
  model: "brand-old",
  from: null,
  rates: { input: 2_000_000, output: 10_000_000, cachedInput: 500_000, cacheWrite: null },
  tiers: [],
};

/** A harness whose team has these own rows. */
function withRates(...rows: RateRow[]): Promise<Harness> {
  const models = new PricedModels(rows, DEFAULT_MODELS);
  const rateCards = { models: () => Promise.resolve(models) } as Partial<RateCardStore>;
  return Harness.open({ deps: { rateCards: rateCards as RateCardStore } });
}

Deno.test("GET /v1/spend/unpriced: each model has its calls, its days and a marked estimate", async () => {
  await using h = await withRates(ROW);
  const small = { ...UNPRICED, provider: null, inputTokens: 5n, outputTokens: 1n };
  await storeSpend(h, [
    aContribution({ day: "2026-11-01", models: [UNPRICED, LINE] }),
    aContribution({ day: "2026-11-03", labels: { agent: "b" }, models: [UNPRICED, small] }),
    aContribution({ day: "2026-11-05", models: [{ ...UNPRICED, priced: true, cost: 7n }] }),
  ]);
  const answer = await h.get("/v1/spend/unpriced");
  assertEquals(answer.status, 200);
  assertEquals(answer.json, {
    from: "2026-10-23",
    to: TODAY,
    models: [
      {
        provider: "openai",
        model: "brand-new",
        reason: "no_price",
        llm_calls: 2,
        input_tokens: 2_000,
        output_tokens: 200,
        cached_input_tokens: 400,
        first_seen: "2026-11-01",
        last_seen: "2026-11-03",
        estimate: {
          // 1,600 at $2, 400 at $0.50 and 200 at $10 per million.
          cost_usd: 0.0054,
          priced_as: { provider: "openai", model: "brand-old", row: "row_1" },
          is_estimate: true,
        },
      },
      {
        provider: null,
        model: "brand-new",
        reason: "no_price",
        llm_calls: 1,
        input_tokens: 5,
        output_tokens: 1,
        cached_input_tokens: 200,
        first_seen: "2026-11-03",
        last_seen: "2026-11-03",
        estimate: {
          // More cached than input: 5 at $2, 200 at $0.50 and 1 at $10 per million.
          cost_usd: 0.00012,
          priced_as: { provider: "openai", model: "brand-old", row: "row_1" },
          is_estimate: true,
        },
      },
    ],
    models_left_out: 0,
    estimate_total_usd: 0.00552,
  });
  const inRange = (await h.get("/v1/spend/unpriced?from=2026-11-02&to=2026-11-03")).json;
  assertEquals(inRange.models[0].first_seen, "2026-11-03");
  assertEquals((await h.get("/v1/spend/unpriced?from=2026-11-05")).json.models, []);
  for (
    const [query, count] of [
      ["model=brand-new", 2],
      ["model=gpt-4o", 0],
      ["provider=openai", 1],
      ["provider=(unattributed)", 1],
      ["provider=openai&model=none", 0],
    ] as const
  ) {
    assertEquals((await h.get(`/v1/spend/unpriced?${query}`)).json.models.length, count, query);
  }
});

Deno.test("GET /v1/spend/unpriced: cached tokens are priced as input without a rate, and separately beyond it", async () => {
  const plain = { ...ROW, rates: { ...ROW.rates, cachedInput: null } };
  await using h = await withRates(plain, { ...ROW, model: "apart-old" });
  await storeSpend(h, [
    aContribution({
      models: [
        UNPRICED,
        { ...UNPRICED, model: "apart", inputTokens: 10n, cachedInputTokens: 20n, outputTokens: 0n },
        { ...UNPRICED, provider: "openai", model: "(other models)", inputTokens: 1n },
      ],
    }),
  ]);
  const { models, estimate_total_usd } = (await h.get("/v1/spend/unpriced")).json;
  const reported = models.map((
    model: { model: string; estimate: { cost_usd: number } | null },
  ) => [model.model, model.estimate?.cost_usd ?? null]);
  assertEquals(reported, [["brand-new", 0.003], ["(other models)", null], ["apart", 0.00003]]);
  assertEquals(estimate_total_usd, 0.00303);
});

Harness.test("GET /v1/spend/unpriced: beyond the model limit those with the fewest tokens are left out", async (h) => {
  const runs = Array.from(
    { length: 1_003 },
    (_, i) => aContribution({ models: [{ ...UNPRICED, model: `m${i}`, inputTokens: BigInt(i) }] }),
  );
  await storeSpend(h, runs);
  const { models, models_left_out } = (await h.get("/v1/spend/unpriced")).json;
  assertEquals([models.length, models_left_out], [100, 903]);
  assertEquals([models[0].model, models.at(-1).model], ["m1002", "m903"]);
  const spend = (await h.get("/v1/spend?group_by=model")).json;
  assertEquals([spend.groups.length, spend.groups.at(-1).key], [1_000, "(other)"]);
  assertEquals([spend.groups.at(-1).folded, spend.groups.at(-1).provider], [5, null]);
});

Harness.test("R27: calls without tokens are listed by their model, through repricing and deletion", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const call = (n: number, data: object) => anEvent(n, { type: "llm_call", data });
  const events = [
    call(1, { model: "gpt-4o" }),
    call(2, { model: "gpt-4o", input_tokens: 1_000, output_tokens: 100 }),
    call(3, { model: "brand-new", provider: "acme" }),
    call(4, { model: "brand-new", provider: "acme", input_tokens: 7, output_tokens: 1 }),
    call(5, { text: "names no model" }),
  ];
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  await h.worker.idle();
  const listed = async () =>
    (await h.get("/v1/spend/unpriced")).json.models.map((
      { model, reason, llm_calls, input_tokens, estimate }: Record<string, unknown>,
    ) => [model, reason, llm_calls, input_tokens, estimate]);
  const uncounted = [
    ["brand-new", "no_tokens", 1, 0, null],
    ["gpt-4o", "no_tokens", 1, 0, null],
  ];
  assertEquals(await listed(), [["brand-new", "no_price", 1, 7, null], ...uncounted]);
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals([run.cost.unpriced_models, run.flags], [["brand-new"], ["no_tokens"]]);
  const { totals } = (await h.get("/v1/spend")).json;
  assertEquals([totals.llm_calls, totals.unpriced.llm_calls], [5, 1]);

  const rate = { model: "brand-new", input_usd_per_million: 1, output_usd_per_million: 1 };
  await h.request("PUT", "/v1/rate-card", { body: rate });
  await reprice(h, { model: "brand-new" });
  await h.worker.idle();
  assertEquals(await listed(), uncounted);
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);

  assertEquals((await h.request("DELETE", `/v1/runs/${runId(1)}`)).status, 200);
  await h.worker.idle();
  assertEquals(await listed(), []);
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);
});
