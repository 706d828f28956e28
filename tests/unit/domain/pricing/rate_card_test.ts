import { assert, assertEquals } from "@std/assert";
import { DEFAULT_RATES } from "../../../../domain/pricing/default_rates.ts";
import { createRateCard } from "../../../../domain/pricing/rate_card.ts";
import type { MatchStep, RateRow } from "../../../../domain/pricing/rates.ts";

const NOW = Date.parse("2026-09-01T12:00:00Z");
const card = createRateCard([]);

/** An own row; a test names only the fields it is about. */
function ownRow(fields: Partial<RateRow> & { readonly model: string }): RateRow {
  const { provider = null, from = null } = fields;
  return {
    id: `own/${provider}/${fields.model}@${from}`,
    source: "own",
    provider,
    from,
    rates: { input: 7, output: 9, cachedInput: null, cacheWrite: null },
    tiers: [],
    ...fields,
  };
}

function rateFor(provider: string | null, model: string, ts = NOW, own: readonly RateRow[] = []) {
  const match = (own.length === 0 ? card : createRateCard(own)).find(provider, model, ts);
  return match && [match.row.id, match.match];
}

type Example = readonly [provider: string | null, model: string, row: string, step: MatchStep];

const EXAMPLES: readonly Example[] = [
  ["openai", "gpt-4o", "openai/gpt-4o", "exact"],
  ["OpenAI", " GPT-4o ", "openai/gpt-4o", "exact"],
  ["openai", "gpt-4o-2024-05-13", "openai/gpt-4o-2024-05-13", "exact"],
  ["openai.chat", "gpt-5", "openai/gpt-5", "exact"],
  ["azure.ai.openai", "phi-4", "azure/phi-4", "exact"],
  ["azure", "gpt-4o", "openai/gpt-4o", "exact"],
  ["xai", "grok-4", "x-ai/grok-4-0709", "exact"],
  ["openrouter", "anthropic/claude-sonnet-4.5", "openrouter/anthropic/claude-sonnet-4.5", "exact"],
  ["groq", "openai/gpt-oss-120b", "groq/openai/gpt-oss-120b", "exact"],
  ["openai", "openai/gpt-4o", "openai/gpt-4o", "provider_prefix"],
  ["google", "models/gemini-2.5-pro", "google/gemini-2.5-pro", "provider_prefix"],
  [
    "vertex_ai",
    "publishers/google/models/gemini-2.5-pro",
    "google/gemini-2.5-pro",
    "provider_prefix",
  ],
  ["openai", "gpt-4.1-2026-01-01", "openai/gpt-4.1", "version_suffix"],
  ["anthropic", "claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5", "version_suffix"],
  ["anthropic", "claude-sonnet-4-5-latest", "anthropic/claude-sonnet-4-5", "version_suffix"],
  ["vertexai", "claude-sonnet-4@20250514", "google/claude-4-sonnet", "version_suffix"],
  ["google", "gemini-2.5-flash-001", "google/gemini-2.5-flash", "version_suffix"],
  [
    "aws.bedrock",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "version_suffix",
  ],
  [
    "aws.bedrock",
    "global.anthropic.claude-opus-4-5-20251101-v1:0",
    "aws/global.anthropic.claude-opus-4-5-v1:0",
    "version_suffix",
  ],
  ["bedrock", "amazon.nova-pro-v1:0:24k", "aws/amazon.nova-pro-v1:0", "version_suffix"],
  ["openai", "gpt-4-1", "openai/gpt-4.1", "dots_to_dashes"],
  ["google", "gemini-2-5-pro-001", "google/gemini-2.5-pro", "dots_to_dashes"],
  ["anthropic", "claude-opus.4.5", "anthropic/claude-opus-4-5", "dots_to_dashes"],
];

Deno.test.each(EXAMPLES)(
  "rate card: %s %s is found",
  (provider, model, row, step) => {
    assertEquals(rateFor(provider, model), [`default/${row}`, step]);
  },
);

const OPEN: readonly Example[] = [
  [null, "gpt-4o", "openai/gpt-4o", "exact"],
  [null, "openai/gpt-4o", "openai/gpt-4o", "provider_prefix"],
  [null, "azure/gpt-4o", "openai/gpt-4o", "provider_prefix"],
  [null, "gemini/gemini-2.5-pro", "google/gemini-2.5-pro", "provider_prefix"],
  [null, "qwen/qwen3-coder:free", "openrouter/qwen/qwen3-coder:free", "exact"],
  [null, "claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5", "version_suffix"],
  [
    null,
    "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "aws/regional.anthropic.claude-haiku-4-5-20251001-v1:0",
    "version_suffix",
  ],
];

Deno.test.each(["litellm", "portkey", "langchain", null] as const)(
  "rate card: a gateway as provider (%s) is as none, and a known model has its price",
  (provider) => {
    for (const [, model, row, step] of OPEN) {
      assertEquals(rateFor(provider, model), [`default/${row}`, step]);
    }
  },
);

const UNPRICED: readonly (readonly [provider: string | null, model: string, why: string])[] = [
  ["anthropic", "gpt-4o", "the provider does not sell it"],
  ["openai", "gpt-4o-preview", "a preview may cost something else"],
  ["openai", "gpt-4o-0806", "four digits may be another model"],
  ["openai", "ft:gpt-4.1:acme::x", "fine-tuned models cost something else"],
  [null, "acme/gpt-4o", "somebody's own model of that name"],
  [null, "atlas-70b", "nobody on the card has it"],
  [null, "", "it has no name"],
  [null, "/", "it has no name"],
  [null, "models/", "it has no name"],
  [null, "constructor", "it is no model"],
  [null, "models/".repeat(40) + "gpt-4o", "no model's name is as long"],
];

Deno.test.each(UNPRICED)("rate card: %s %s has no price: %s", (provider, model) => {
  assertEquals(rateFor(provider, model), null);
});

Deno.test("rate card: the row in force at the call's instant applies, from its first millisecond", () => {
  const change = Date.parse("2025-06-10");
  assertEquals(rateFor("openai", "o3", change - 1), ["default/openai/o3", "exact"]);
  assertEquals(rateFor("openai", "o3", change), ["default/openai/o3@2025-06-10", "exact"]);
});

Deno.test("rate card: an own row takes precedence over a default row of the same step", () => {
  const own = ownRow({ model: "GPT-4o", provider: "OpenAI" });
  assertEquals(rateFor("openai", "gpt-4o", NOW, [own]), [own.id, "exact"]);
  assertEquals(rateFor(null, "gpt-4o", NOW, [own]), [own.id, "exact"]);
  assertEquals(rateFor("azure", "o1", NOW, [ownRow({ model: "o1", provider: "openai" })]), [
    "default/azure/o1",
    "exact",
  ]);
});

Deno.test("rate card: a more exact default row takes precedence over an own row of a later step", () => {
  const own = ownRow({ model: "gpt-4o" });
  const dated = "gpt-4o-2024-08-06";
  assertEquals(rateFor("openai", dated, NOW, [own]), ["default/openai/gpt-4o", "exact"]);
  assertEquals(rateFor("openai", "gpt-4o-2030-01-01", NOW, [own]), [own.id, "version_suffix"]);
});

Deno.test("rate card: an own row without a provider prices the model for every provider", () => {
  const own = ownRow({ model: "atlas-70b" });
  for (const provider of ["openai", "in-house", null]) {
    assertEquals(rateFor(provider, "atlas-70b", NOW, [own]), [own.id, "exact"]);
  }
});

Deno.test("rate card: an own row for the provider takes precedence over one for any provider", () => {
  const any = ownRow({ model: "atlas-70b" });
  const theirs = ownRow({ model: "atlas-70b", provider: "in_house" });
  const others = ownRow({ model: "atlas-70b", provider: "acme" });
  const own = [others, any, theirs];
  assertEquals(rateFor("in-house", "atlas-70b", NOW, own), [theirs.id, "exact"]);
  assertEquals(rateFor("acme", "atlas-70b", NOW, own), [others.id, "exact"]);
  assertEquals(rateFor("openai", "atlas-70b", NOW, own), [any.id, "exact"]);
  assertEquals(rateFor("openai", "atlas-70b", NOW, [theirs]), null);
  assertEquals(rateFor(null, "atlas-70b", NOW, [theirs]), [theirs.id, "exact"]);
});

Deno.test("rate card: until an own row is in force, the older own row applies, then the default", () => {
  const later = ownRow({ model: "gpt-4o", provider: "openai", from: NOW + 1 });
  const earlier = ownRow({ model: "gpt-4o", provider: "openai", from: NOW });
  const own = [earlier, later];
  assertEquals(rateFor("openai", "gpt-4o", NOW - 1, own), ["default/openai/gpt-4o", "exact"]);
  assertEquals(rateFor("openai", "gpt-4o", NOW, own), [earlier.id, "exact"]);
  assertEquals(rateFor("openai", "gpt-4o", NOW + 1, own), [later.id, "exact"]);
});

Deno.test("rate card: a name is found also after 5,000 other names", () => {
  const small = createRateCard([]);
  const first = small.find("openai", "gpt-4o", NOW);
  for (let n = 0; n < 5_001; n++) small.find("openai", `unheard-of-${n}`, NOW);
  assert(first !== null);
  assertEquals(small.find("openai", "gpt-4o", NOW), first);
});

Deno.test("rate card: a provider name that is too long counts as absent", () => {
  assertEquals(rateFor("x".repeat(257), "gpt-4o"), ["default/openai/gpt-4o", "exact"]);
});

Deno.test("default card: ids are unique and every row is found by its name and date", () => {
  assertEquals(new Set(DEFAULT_RATES.rows.map(({ id }) => id)).size, DEFAULT_RATES.rows.length);
  assert(DEFAULT_RATES.rows.length > 1_500);
  for (const row of DEFAULT_RATES.rows) {
    assert(row.provider !== null);
    const match = card.find(row.provider, row.model, row.from ?? Date.parse("2020-01-01"));
    assertEquals([match?.row.id, match?.match], [row.id, "exact"]);
  }
});

Deno.test("default card: rates are integer picodollars and tiers rise", () => {
  for (const { id, rates, tiers } of DEFAULT_RATES.rows) {
    const all = [rates, ...tiers.map((tier) => tier.rates)].flatMap(Object.values);
    assert(all.every((rate) => rate === null || Number.isSafeInteger(rate) && rate >= 0), id);
    const starts = tiers.map((tier) => tier.aboveInputTokens);
    assertEquals(starts, [...new Set(starts)].sort((a, b) => a - b), id);
  }
});
