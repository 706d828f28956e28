import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { ModelSums, TokenSums } from "../../../../domain/runs/event_totals.ts";

const tokens = fc.oneof(fc.nat({ max: 9 }), fc.nat({ max: Number.MAX_SAFE_INTEGER }));
const call = fc.record({
  model: fc.constantFrom("m", "n"),
  provider: fc.constantFrom("p", null),
  counted: fc.constant(true),
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  cost: fc.oneof(tokens, fc.bigInt({ min: 0n, max: 2n ** 70n })),
  priced: fc.boolean(),
});

Deno.test("token sums are exact, however far they exceed 2^53", () => {
  fc.assert(fc.property(fc.array(call), (calls) => {
    const sums = new TokenSums();
    for (const each of calls) sums.add(each, each.cost);
    const sum = (name: "inputTokens" | "outputTokens" | "cachedInputTokens" | "cost") =>
      calls.reduce((total, each) => total + BigInt(each[name]), 0n);
    assertEquals(sums.total(), {
      calls: calls.length,
      inputTokens: sum("inputTokens"),
      outputTokens: sum("outputTokens"),
      cachedInputTokens: sum("cachedInputTokens"),
      cost: sum("cost"),
    });
  }));
});

Deno.test("each model of each provider has its own sums", () => {
  fc.assert(fc.property(fc.array(call), (calls) => {
    const models = new ModelSums();
    for (const each of calls) {
      models.of(each.model, each.provider, each.priced).add(each, each.cost);
    }
    for (const { model, provider, priced, ...sums } of models.usages()) {
      const own = new TokenSums();
      const same = calls.filter((each) =>
        each.model === model && each.provider === provider &&
        each.priced === priced
      );
      for (const each of same) own.add(each, each.cost);
      assertEquals(sums, own.total());
    }
    const names = new Set(
      calls.map(({ model, provider, priced }) => `${model} ${provider} ${priced}`),
    );
    assertEquals(models.usages().length, names.size);
  }));
});
