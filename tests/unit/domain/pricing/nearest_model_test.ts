import { assert, assertEquals } from "@std/assert";
import { DEFAULT_RATES } from "../../../../domain/pricing/default_rates.ts";
import type { RateRow } from "../../../../domain/pricing/rates.ts";
import { PricedModels } from "../../../../domain/pricing/nearest_model.ts";
import { cpuMsOf, leastOf } from "../../../support/oracles/durations.ts";

const DEFAULT_MODELS = new PricedModels(DEFAULT_RATES.rows);

/** Milliseconds for 1,000 models. Comparing all pairs takes more than ten times as long. */
const NEAREST_MS_MAX = 250;

const NEAREST: readonly (readonly [provider: string | null, model: string, id: string | null])[] = [
  ["openai", "gpt-4o-audio-x", "default/openai/gpt-4o-audio-preview"],
  ["openai", "gpt-4o-x", "default/openai/gpt-4o"],
  [null, "gpt-5.7", "default/openai/gpt-5"],
  [null, "claude-opus-9", "default/anthropic/claude-opus-5"],
  ["anthropic", "claude-opus-9", "default/anthropic/claude-opus-5"],
  ["anthropic", "claude-opus-9-20300101", "default/anthropic/claude-opus-5"],
  ["openai", "anthropic/claude-opus-4-1", "default/anthropic/claude-opus-4-1"],
  ["google", "gemini-2.5-pro-ultra", "default/google/gemini-2.5-pro"],
  ["in-house", "in-house/atlas-70b-preview", null],
  [null, "", null],
];

Deno.test.each(NEAREST)("nearest priced model: %s %s", (provider, model, id) => {
  assertEquals(DEFAULT_MODELS.nearest(provider, model)?.id ?? null, id);
});

Deno.test("nearest priced model: the order of the rows does not matter", () => {
  const reversed = new PricedModels(DEFAULT_RATES.rows.toReversed());
  for (const [provider, model, id] of NEAREST) {
    assertEquals(reversed.nearest(provider, model)?.id ?? null, id);
  }
});

Deno.test("nearest priced model: a free model is no estimate", () => {
  const free = DEFAULT_RATES.rows.find(({ model }) => model.endsWith(":free"));
  assert(free !== undefined);
  assertEquals(new PricedModels([free]).nearest(free.provider, free.model), null);
});

Deno.test("nearest priced model: the latest row of a model is used", () => {
  const rows = DEFAULT_RATES.rows.filter(({ id }) => id.startsWith("default/openai/o3"));
  assertEquals(new PricedModels(rows).nearest(null, "o3")?.id, "default/openai/o3@2025-06-10");
});

function own(id: number, model: string, provider: string | null = null): RateRow {
  const rates = { input: 1, output: 1, cachedInput: null, cacheWrite: null };
  return { id: `rate_${id}`, source: "own", provider, model, from: null, rates, tiers: [] };
}

Deno.test("nearest priced model: own rows and default rows compete by their common prefix", () => {
  const models = new PricedModels([
    own(1, "gpt-5-atlas"),
    own(2, "claude-opus-5-atlas", "in-house"),
    own(3, "claude-opus-5-atlas-mini", "in-house"),
  ], DEFAULT_MODELS);
  const nearest = (provider: string | null, model: string) => models.nearest(provider, model)?.id;
  assertEquals(nearest(null, "gpt-5-atlas-2"), "rate_1");
  assertEquals(nearest("openai", "gpt-5-atlas-2"), "default/openai/gpt-5");
  assertEquals(nearest("In-House", "claude-haiku"), "rate_2");
  assertEquals(nearest(null, "claude-opus-5-atlas-9"), "rate_2");
  assertEquals(nearest(null, "claude-opus-5"), "default/anthropic/claude-opus-5");
  assertEquals(nearest(null, "gemini-2.5-pro-ultra"), "default/google/gemini-2.5-pro");
});

Deno.test("nearest priced model: 1,000 models against 1,000 own rows are fast, whatever their names", () => {
  const long = "a1".repeat(120);
  for (const name of [(n: number) => `gpt-${n}-x`, (n: number) => `${long}${n}`]) {
    const models = new PricedModels(
      Array.from({ length: 1_000 }, (_, n) => own(n, name(n))),
      DEFAULT_MODELS,
    );
    const tookMs = leastOf(NEAREST_MS_MAX, () =>
      cpuMsOf(() => {
        let matches = 0;
        for (let n = 0; n < 1_000; n++) if (models.nearest("acme", `${name(n)}y9`)) matches++;
        assertEquals(matches, 1_000);
      }));
    assert(tookMs < NEAREST_MS_MAX, `${tookMs} ms`);
  }
});
