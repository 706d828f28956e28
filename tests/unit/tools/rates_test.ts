import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { renderRates } from "../../../tools/rates/rates.ts";
import { orderOf } from "../../../tools/rates/providers.ts";
import { datedPrices } from "../../../tools/rates/prices.ts";

const CARD = new URL("../../../domain/pricing/default_rates.json", import.meta.url);

Deno.test("rates: regenerating the default card gives the committed file", async () => {
  const { card } = await renderRates();
  const committed = JSON.stringify(JSON.parse(await Deno.readTextFile(CARD)));
  assert(JSON.stringify(card) === committed, "run `deno task rates` and commit the file");
});

Deno.test("rates: everything left out or rounded is reported, with counts", async () => {
  const { notes } = await renderRates();
  const all = notes.join("\n");
  assertStringIncludes(all, "openai/whisper-1: left out, no price per token");
  assertStringIncludes(all, "cache_write_mtok 0.08333333333333334 rounded to 0.083333");
  assertStringIncludes(all, "43 providers, 1665 models");
});

const MODEL = { id: "atlas", match: { equals: "atlas" } };

Deno.test("rates: dollars per million become integer picodollars per token", () => {
  const prices = { input_mtok: 0.00875, output_mtok: 10, cache_read_mtok: 0.1 };
  assertEquals(datedPrices({ ...MODEL, prices }).prices, [
    { input: 8_750, output: 10_000_000, cached: 100_000 },
  ]);
});

Deno.test("rates: tiers of different kinds of tokens become tiers of the entire call", () => {
  const prices = {
    input_mtok: { base: 1, tiers: [{ start: 100, price: 2 }] },
    output_mtok: { base: 3, tiers: [{ start: 200, price: 4 }] },
  };
  assertEquals(datedPrices({ ...MODEL, prices }).prices, [{
    input: 1_000_000,
    output: 3_000_000,
    tiers: [
      { above: 100, input: 2_000_000, output: 3_000_000 },
      { above: 200, input: 2_000_000, output: 4_000_000 },
    ],
  }]);
});

Deno.test("rates: of prices by time of day the one that covers most of the day is kept", () => {
  const window = (start_time: string, end_time: string) => ({
    constraint: { type: "time_of_date" as const, start_time, end_time },
    prices: { input_mtok: 2 },
  });
  const cases: [start: string, end: string, input: number][] = [
    ["00:30:00Z", "16:30:00Z", 2_000_000],
    ["20:00:00Z", "10:00:00Z", 2_000_000],
    ["01:00:00Z", "04:00:00Z", 1_000_000],
  ];
  for (const [start, end, input] of cases) {
    const prices = [{ prices: { input_mtok: 1 } }, window(start, end)];
    assertEquals(datedPrices({ ...MODEL, prices }).prices, [{ input, output: 0 }]);
  }
});

Deno.test("rates: an empty price is free only where the name says so", () => {
  assertEquals(datedPrices({ ...MODEL, prices: {} }).prices, []);
  const free = { ...MODEL, id: "atlas:free", prices: {} };
  assertEquals(datedPrices(free).prices, [{ input: 0, output: 0 }]);
});

Deno.test("rates: model makers take precedence, and unknown providers come before OpenRouter", () => {
  const ids = ["openrouter", "aws", "newcomer", "anthropic", "openai"];
  assertEquals(orderOf(ids), ["openai", "anthropic", "aws", "newcomer", "openrouter"]);
});
