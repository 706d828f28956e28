/** `/v1/spend/unpriced`: models without a price, over roll-ups written by the worker. */
import { assertEquals } from "@std/assert";
import { DEFAULT_RATES } from "../../domain/pricing/default_rates.ts";
import { PricedModels } from "../../domain/pricing/nearest_model.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";
import { anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { aContribution, LINE, storeSpend, TODAY, UNPRICED } from "../support/builders/spend.ts";
import type { RateCardStore } from "../../kv/rate_cards/rate_cards.ts";

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
  await h.post("/v1/rate-card/reprice", { model: "brand-new" });
  await h.worker.idle();
  assertEquals(await listed(), uncounted);
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);

  assertEquals((await h.request("DELETE", `/v1/runs/${runId(1)}`)).status, 200);
  await h.worker.idle();
  assertEquals(await listed(), []);
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);
});
