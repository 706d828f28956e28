import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { LlmCall } from "../../../../domain/pricing/llm_call.ts";
import {
  costLines,
  isPriceable,
  NO_PRICES,
  priceEvents,
} from "../../../../domain/pricing/price.ts";
import { createRateCard } from "../../../../domain/pricing/rate_card.ts";
import type { RateCard, RateMatch } from "../../../../domain/pricing/rates.ts";
import { cardOf, NO_CARD, rateRow } from "../../../support/builders/cards.ts";

function aCall(fields: Partial<LlmCall> = {}): LlmCall {
  return {
    model: "m",
    provider: null,
    counted: true,
    inputTokens: 10,
    outputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    ...fields,
  };
}

function event(call?: LlmCall, ts = 0) {
  return { ts, facts: { call } };
}

const CARD = cardOf(rateRow("m", 3, 5), rateRow("n", 7, 11));

Deno.test("prices: each event has its cost and its row, and each row is stored once", () => {
  const batch = [
    event(aCall()),
    event(),
    event(aCall({ model: "n" })),
    event(aCall({ inputTokens: 1 })),
    event(aCall({ model: "unknown" })),
  ];
  const { matches, by, costs } = priceEvents(batch, CARD);
  assertEquals(matches.map(({ row }) => row.model), ["m", "n"]);
  assertEquals([by, costs], [[0, -1, 1, 0, -1], [35, 0, 81, 8, 0]]);
});

Deno.test("prices: two names of one row share it, a row found in another step does not", () => {
  const names = ["gpt-4o", "gpt-4o-2024-11-20", "gpt-4o-latest", "gpt-4o"];
  const events = names.map((model) => event(aCall({ model, provider: "openai" }), 1.78e12));
  const { matches, by } = priceEvents(events, createRateCard([]));
  assertEquals(by, [0, 0, 1, 0]);
  assertEquals(matches.map(({ match }) => match), ["exact", "version_suffix"]);
});

Deno.test("prices: no events and an empty card give no prices", () => {
  assertEquals(priceEvents([], CARD), NO_PRICES);
  assertEquals(priceEvents([event(aCall())], NO_CARD), { matches: [], by: [-1], costs: [0] });
});

Deno.test("pricing rule 3: a call without a model or any count is not priced", () => {
  assertEquals(isPriceable(undefined), false);
  assertEquals(isPriceable(aCall({ model: null })), false);
  assertEquals(isPriceable(aCall({ counted: false })), false);
  assertEquals(isPriceable(aCall({ inputTokens: 0, outputTokens: 0 })), true);
  const odd = [event(aCall({ model: null })), event(aCall({ counted: false }))];
  assertEquals(priceEvents(odd, CARD).by, [-1, -1]);
});

Deno.test("prices: one model before and after a new price has both rows", () => {
  const rows: RateMatch[] = [rateRow("m", 1, 1), { ...rateRow("m", 2, 2), id: "later" }]
    .map((row) => ({ row, match: "exact" }));
  const card: RateCard = { find: (_, __, ts) => rows[ts < 100 ? 0 : 1] ?? null };
  const { matches, by, costs } = priceEvents([99, 100, 99].map((ts) => event(aCall(), ts)), card);
  assertEquals([matches.map(({ row }) => row.id), by, costs], [
    ["rate_m", "later"],
    [0, 1, 0],
    [11, 22, 11],
  ]);
});

Deno.test("prices: costs beyond 2^53 are exact", () => {
  const tokens = fc.nat(Number.MAX_SAFE_INTEGER);
  fc.assert(fc.property(tokens, tokens, (inputTokens, outputTokens) => {
    const call = aCall({ inputTokens, outputTokens });
    const row = rateRow("m", 999_999_999_999, 888_888_888_888);
    const [cost] = priceEvents([event(call)], cardOf(row)).costs;
    assertEquals(
      BigInt(cost ?? -1),
      costLines(row, call).reduce((sum, line) => sum + line.cost, 0n),
    );
  }));
});
