import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { costLines, isApart, priceOf } from "../../../../domain/pricing/price.ts";
import type { CallTokens, RateRow, Rates } from "../../../../domain/pricing/rates.ts";

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
