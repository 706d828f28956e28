/** Body of `PUT /v1/rate-card`: valid prices, and bodies refused instead of misread. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { RATE_TIERS_MAX, RATE_USD_PER_MILLION_MAX } from "../../../../domain/core/limits.ts";
import { parseBody } from "../../../../domain/ingest/parse.ts";
import {
  isSameRate,
  parseRate,
  ratePerToken,
  type RateSpec,
  usdPerMillion,
} from "../../../../domain/pricing/rate_body.ts";
import { problemOf } from "../../../support/oracles/problems.ts";

const LEAST = { model: "gpt-4o", input_usd_per_million: 2.5, output_usd_per_million: 10 };
const TIER = { above_input_tokens: 200_000, input_usd_per_million: 5, output_usd_per_million: 15 };

function specOf(body: unknown): RateSpec {
  return parseRate(parseBody(typeof body === "string" ? body : JSON.stringify(body)));
}

Deno.test("the minimal body is a price for any provider, effective from the beginning", () => {
  assertEquals(specOf(LEAST), {
    provider: null,
    model: "gpt-4o",
    from: null,
    rates: { input: 2_500_000, output: 10_000_000, cachedInput: null, cacheWrite: null },
    tiers: [],
    note: undefined,
  });
  const nulls = {
    ...LEAST,
    provider: null,
    effective_from: null,
    cached_input_usd_per_million: null,
    cache_write_usd_per_million: null,
    note: null,
    tiers: null,
  };
  assertEquals(specOf(nulls), specOf(LEAST));
});

Deno.test("the complete body is read field by field", () => {
  const body = {
    ...LEAST,
    provider: "azure",
    effective_from: "2026-03-01T00:00:00Z",
    cached_input_usd_per_million: 0,
    cache_write_usd_per_million: 3.125,
    note: "contract 7",
    tiers: [TIER, { ...TIER, above_input_tokens: 400_000, cached_input_usd_per_million: 0.5 }],
  };
  const tierRates = { input: 5_000_000, output: 15_000_000, cachedInput: null, cacheWrite: null };
  assertEquals(specOf(body), {
    provider: "azure",
    model: "gpt-4o",
    from: Date.UTC(2026, 2, 1),
    rates: { input: 2_500_000, output: 10_000_000, cachedInput: 0, cacheWrite: 3_125_000 },
    tiers: [
      { aboveInputTokens: 200_000, rates: tierRates },
      { aboveInputTokens: 400_000, rates: { ...tierRates, cachedInput: 500_000 } },
    ],
    note: "contract 7",
  });
});

Deno.test("decisions, section 5: a rate of up to six decimals is an integer number of picodollars per token", () => {
  for (
    const [text, picodollars] of [
      ["0", 0],
      ["-0", 0],
      ["0.1", 100_000],
      ["0.3", 300_000],
      ["1.10", 1_100_000],
      ["0.000001", 1],
      ["1e-6", 1],
      ["2.5e-1", 250_000],
      ["1e3", 1_000_000_000],
      ["0.1000000000", 100_000],
      ["999999.999999", 999_999_999_999],
      ["1000000", 1_000_000_000_000],
    ] as const
  ) {
    const { rates } = specOf(
      `{"model":"m","input_usd_per_million":${text},"output_usd_per_million":1}`,
    );
    assertEquals([text, rates.input], [text, picodollars]);
  }
});

Deno.test("every rate of six decimals is read and shown as the same number", () => {
  const micros = fc.integer({ min: 0, max: RATE_USD_PER_MILLION_MAX * 1e6 });
  fc.assert(fc.property(micros, (picodollars) => {
    const digits = String(picodollars).padStart(7, "0");
    const displayed = Number(`${digits.slice(0, -6)}.${digits.slice(-6)}`);
    assertEquals(ratePerToken(displayed), picodollars);
    assertEquals(usdPerMillion(picodollars), displayed);
  }));
});

Deno.test("no number with seven or more decimals is a rate", () => {
  const parts = fc.tuple(fc.nat(9_999), fc.nat(9_999_999), fc.integer({ min: 1, max: 9 }));
  fc.assert(fc.property(parts, ([whole, fraction, last]) => {
    const text = `${whole}.${String(fraction).padStart(7, "0")}${last}`;
    assertEquals([text, ratePerToken(Number(text))], [text, null]);
  }));
  assertEquals([ratePerToken(NaN), ratePerToken(Infinity), ratePerToken(-1)], [null, null, null]);
});

Deno.test("there are at most ten tiers, and a bad field is named with the index of its tier", () => {
  const tiers = Array.from(
    { length: RATE_TIERS_MAX },
    (_, i) => ({ ...TIER, above_input_tokens: i + 1 }),
  );
  assertEquals(specOf({ ...LEAST, tiers }).tiers.length, RATE_TIERS_MAX);
  for (
    const [field, value] of [
      ["above_input_tokens", TIER.above_input_tokens],
      ["cached_input_usd_per_million", -1],
      ["cache_write_usd_per_million", "1"],
    ] as const
  ) {
    const second = { ...TIER, above_input_tokens: 300_000, [field]: value };
    const problem = problemOf(() => specOf({ ...LEAST, tiers: [TIER, second] }));
    assertEquals(problem?.field, field);
    assertStringIncludes(problem?.message ?? "", `tiers[1].${field}`);
  }
});

Deno.test("two bodies are the same price exactly when their contents are equal", () => {
  const body = {
    ...LEAST,
    provider: "azure",
    effective_from: "2026-03-01T00:00:00Z",
    cached_input_usd_per_million: 1,
    note: "n",
    tiers: [TIER],
  };
  const spec = specOf(body);
  assert(isSameRate(spec, specOf({ ...body, effective_from: "2026-03-01T00:00:00.000+00:00" })));
  assert(isSameRate(specOf(LEAST), specOf({ ...LEAST, note: null, tiers: [] })));
  for (
    const change of [
      { provider: "openai" },
      { model: "gpt-4o-mini" },
      { effective_from: null },
      { input_usd_per_million: 2.500001 },
      { output_usd_per_million: 0 },
      { cached_input_usd_per_million: null },
      { cache_write_usd_per_million: 0 },
      { note: "" },
      { note: null },
      { tiers: [] },
      { tiers: [{ ...TIER, above_input_tokens: 1 }] },
      { tiers: [{ ...TIER, cache_write_usd_per_million: 5 }] },
    ]
  ) {
    assert(!isSameRate(spec, specOf({ ...body, ...change })), JSON.stringify(change));
  }
});
