import { assert, assertEquals } from "@std/assert";
import { DEFAULT_RATES } from "../../../domain/money/default_rates.ts";
import { nearestPriced } from "../../../domain/money/sibling.ts";

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
  assertEquals(nearestPriced(DEFAULT_RATES.rows, provider, model)?.id ?? null, id);
});

Deno.test("nearest priced model: the order of the rows does not matter", () => {
  const reversed = DEFAULT_RATES.rows.toReversed();
  for (const [provider, model, id] of NEAREST) {
    assertEquals(nearestPriced(reversed, provider, model)?.id ?? null, id);
  }
});

Deno.test("nearest priced model: a model that costs nothing is no estimate", () => {
  const free = DEFAULT_RATES.rows.find(({ model }) => model.endsWith(":free"));
  assert(free !== undefined);
  assertEquals(nearestPriced([free], free.provider, free.model), null);
});

Deno.test("nearest priced model: of the same model the latest row is taken", () => {
  const rows = DEFAULT_RATES.rows.filter(({ id }) => id.startsWith("default/openai/o3"));
  assertEquals(nearestPriced(rows, null, "o3")?.id, "default/openai/o3@2025-06-10");
});
