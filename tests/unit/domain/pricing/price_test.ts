/** Prices of calls: of their tokens by a row, and of the events of a batch by a card. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  costLines,
  isApart,
  isPriceable,
  NO_PRICES,
  priceEvents,
  priceOf,
} from "../../../../domain/pricing/price.ts";
import type {
  CallTokens,
  RateCard,
  RateMatch,
  RateRow,
  Rates,
} from "../../../../domain/pricing/rates.ts";
import type { LlmCall } from "../../../../domain/pricing/llm_call.ts";
import { createRateCard } from "../../../../domain/pricing/rate_card.ts";
import { cardOf, NO_CARD, rateRow } from "../../../support/builders/cards.ts";

const RATES: Rates = { input: 3_000, output: 15_000, cachedInput: 300, cacheWrite: 3_750 };
const DOUBLE: Rates = { input: 6_000, output: 22_500, cachedInput: 600, cacheWrite: 7_500 };
const TIERED = aRow(RATES, [{ aboveInputTokens: 200_000, rates: DOUBLE }]);

function aRow(rates: Rates, tiers: RateRow["tiers"] = []): RateRow {
  const id = "default/acme/atlas";
  return { id, source: "default", provider: "acme", model: "atlas", from: null, rates, tiers };
}

function aCall(input: number, output: number, cached = 0, write = 0): CallTokens {
  return {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    cacheWriteTokens: write,
  };
}

Deno.test("pricing: cached tokens and cache writes are part of the input", () => {
  const call = aCall(1_000, 100, 600, 300);
  const [cost, apart] = [priceOf(aRow(RATES), call), isApart(call)];
  assertEquals(cost, 100 * 3_000 + 600 * 300 + 300 * 3_750 + 100 * 15_000);
  assertEquals(apart, false);
});

Deno.test("pricing: without rates of their own, cached tokens and cache writes cost as input", () => {
  const row = aRow({ ...RATES, cachedInput: null, cacheWrite: null });
  assertEquals(priceOf(row, aCall(1_000, 0, 600, 300)), 1_000 * 3_000);
  assertEquals(priceOf(aRow({ ...RATES, cachedInput: 0 }), aCall(1_000, 0, 600)), 400 * 3_000);
});

Deno.test("pricing: cached and written tokens may be the entire input; one token more is counted separately", () => {
  const row = aRow(RATES);
  assertEquals(priceOf(row, aCall(10, 0, 6, 4)), 6 * 300 + 4 * 3_750);
  assertEquals(isApart(aCall(10, 0, 6, 4)), false);
  assertEquals(priceOf(row, aCall(10, 0, 7, 4)), 10 * 3_000 + 7 * 300 + 4 * 3_750);
  assertEquals(isApart(aCall(10, 0, 7, 4)), true);
});

Deno.test("pricing: the threshold itself is below the tier, one token more moves the entire call to the tier", () => {
  assertEquals(priceOf(TIERED, aCall(200_000, 10)), 200_000 * 3_000 + 10 * 15_000);
  assertEquals(priceOf(TIERED, aCall(200_001, 10)), 200_001 * 6_000 + 10 * 22_500);
});

Deno.test("pricing: separately reported tokens count towards the tier", () => {
  assertEquals(priceOf(TIERED, aCall(100_000, 0, 100_000, 0)), 100_000 * 300);
  assertEquals(
    priceOf(TIERED, aCall(100_000, 0, 100_001, 0)),
    100_000 * 6_000 + 100_001 * 600,
  );
});

Deno.test("pricing: the highest tier reached applies", () => {
  const top: Rates = { ...DOUBLE, input: 9_000 };
  const row = aRow(RATES, [...TIERED.tiers, { aboveInputTokens: 500_000, rates: top }]);
  assertEquals(priceOf(row, aCall(500_000, 0)), 500_000 * 6_000);
  assertEquals(priceOf(row, aCall(500_001, 0)), 500_001 * 9_000);
});

Deno.test("pricing: the largest numbers are exact", () => {
  const most = Number.MAX_SAFE_INTEGER;
  const row = aRow({ input: most, output: most, cachedInput: most, cacheWrite: most });
  const call = aCall(most, most, most, most);
  const [cost, apart] = [priceOf(row, call), isApart(call)];
  assertEquals([cost, apart], [4n * BigInt(most) ** 2n, true]);
  assertEquals(priceOf(aRow({ ...RATES, input: 1 }), aCall(most, 0)), most);
});

const tokens = fc.oneof(
  fc.nat(1_000_000),
  fc.maxSafeNat(),
  fc.constantFrom(0, 1, 200_000, 200_001, Number.MAX_SAFE_INTEGER),
);
const rate = fc.oneof(fc.nat(100_000_000), fc.maxSafeNat());
const rates = fc.record({
  input: rate,
  output: rate,
  cachedInput: fc.option(rate),
  cacheWrite: fc.option(rate),
});
const calls = fc.tuple(tokens, tokens, tokens, tokens);

Deno.test("pricing: the lines add up to the price, and each is tokens times rate", () => {
  fc.assert(
    fc.property(rates, rates, calls, (base, above, call) => {
      const row = aRow(base, [{ aboveInputTokens: 200_000, rates: above }]);
      const [cost, apart] = [priceOf(row, aCall(...call)), isApart(aCall(...call))];
      const lines = costLines(row, aCall(...call));
      const sum = lines.reduce((total, line) => total + line.cost, 0n);
      assertEquals(BigInt(cost), sum);
      assertEquals(typeof cost, sum <= BigInt(Number.MAX_SAFE_INTEGER) ? "number" : "bigint");
      assert(lines.every((line) => line.cost === BigInt(line.tokens) * BigInt(line.rate)));
      assert(lines.every((line) => line.tokens > 0));
      const [input, output, cached, write] = call.map(BigInt) as [bigint, bigint, bigint, bigint];
      const reported = lines.reduce((total, line) => total + BigInt(line.tokens), 0n);
      assertEquals(reported, input + output + (apart ? cached + write : 0n));
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("pricing: lines have a fixed order and leave out kinds without tokens", () => {
  const kinds = (call: CallTokens) => costLines(aRow(RATES), call).map(({ kind }) => kind);
  assertEquals(kinds(aCall(9, 1, 2, 3)), ["input", "cached_input", "cache_write", "output"]);
  assertEquals(kinds(aCall(9, 0, 9, 0)), ["cached_input"]);
  assertEquals(kinds(aCall(0, 0)), []);
});

function aModelCall(fields: Partial<LlmCall> = {}): LlmCall {
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
    event(aModelCall()),
    event(),
    event(aModelCall({ model: "n" })),
    event(aModelCall({ inputTokens: 1 })),
    event(aModelCall({ model: "unknown" })),
  ];
  const { matches, by, costs } = priceEvents(batch, CARD);
  assertEquals(matches.map(({ row }) => row.model), ["m", "n"]);
  assertEquals([by, costs], [[0, -1, 1, 0, -1], [35, 0, 81, 8, 0]]);
});

Deno.test("prices: two names of one row share it, a row found in another step does not", () => {
  const names = ["gpt-4o", "gpt-4o-2024-11-20", "gpt-4o-latest", "gpt-4o"];
  const events = names.map((model) => event(aModelCall({ model, provider: "openai" }), 1.78e12));
  const { matches, by } = priceEvents(events, createRateCard([]));
  assertEquals(by, [0, 0, 1, 0]);
  assertEquals(matches.map(({ match }) => match), ["exact", "version_suffix"]);
});

Deno.test("prices: no events and an empty card give no prices", () => {
  assertEquals(priceEvents([], CARD), NO_PRICES);
  assertEquals(priceEvents([event(aModelCall())], NO_CARD), { matches: [], by: [-1], costs: [0] });
});

Deno.test("pricing rule 3: a call without a model or any count is not priced", () => {
  assertEquals(isPriceable(undefined), false);
  assertEquals(isPriceable(aModelCall({ model: null })), false);
  assertEquals(isPriceable(aModelCall({ counted: false })), false);
  assertEquals(isPriceable(aModelCall({ inputTokens: 0, outputTokens: 0 })), true);
  const odd = [event(aModelCall({ model: null })), event(aModelCall({ counted: false }))];
  assertEquals(priceEvents(odd, CARD).by, [-1, -1]);
});

Deno.test("prices: one model before and after a new price has both rows", () => {
  const rows: RateMatch[] = [rateRow("m", 1, 1), { ...rateRow("m", 2, 2), id: "later" }]
    .map((row) => ({ row, match: "exact" }));
  const card: RateCard = { find: (_, __, ts) => rows[ts < 100 ? 0 : 1] ?? null };
  const { matches, by, costs } = priceEvents(
    [99, 100, 99].map((ts) => event(aModelCall(), ts)),
    card,
  );
  assertEquals([matches.map(({ row }) => row.id), by, costs], [
    ["rate_m", "later"],
    [0, 1, 0],
    [11, 22, 11],
  ]);
});

Deno.test("prices: costs beyond 2^53 are exact", () => {
  const tokens = fc.nat(Number.MAX_SAFE_INTEGER);
  fc.assert(fc.property(tokens, tokens, (inputTokens, outputTokens) => {
    const call = aModelCall({ inputTokens, outputTokens });
    const row = rateRow("m", 999_999_999_999, 888_888_888_888);
    const [cost] = priceEvents([event(call)], cardOf(row)).costs;
    assertEquals(
      BigInt(cost ?? -1),
      costLines(row, call).reduce((sum, line) => sum + line.cost, 0n),
    );
  }));
});
