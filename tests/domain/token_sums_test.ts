import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { ModelSums, TokenSums } from "../../domain/token_sums.ts";

const tokens = fc.oneof(fc.nat({ max: 9 }), fc.nat({ max: Number.MAX_SAFE_INTEGER }));
const call = fc.record({
  model: fc.constantFrom("m", "n"),
  provider: fc.constantFrom("p", null),
  counted: fc.constant(true),
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: tokens,
});

Deno.test("tokens are summed exactly, however far the sums pass 2^53", () => {
  fc.assert(fc.property(fc.array(call), (calls) => {
    const sums = new TokenSums();
    for (const each of calls) sums.add(each);
    const sum = (name: "inputTokens" | "outputTokens" | "cachedInputTokens") =>
      calls.reduce((total, each) => total + BigInt(each[name]), 0n);
    assertEquals(sums.total(), {
      calls: calls.length,
      inputTokens: sum("inputTokens"),
      outputTokens: sum("outputTokens"),
      cachedInputTokens: sum("cachedInputTokens"),
    });
  }));
});

Deno.test("each model of each provider has sums of its own", () => {
  fc.assert(fc.property(fc.array(call), (calls) => {
    const models = new ModelSums();
    for (const each of calls) models.of(each.model, each.provider).add(each);
    for (const { model, provider, ...sums } of models.usages()) {
      const own = new TokenSums();
      const same = calls.filter((each) => each.model === model && each.provider === provider);
      for (const each of same) own.add(each);
      assertEquals(sums, own.total());
    }
    const names = new Set(calls.map(({ model, provider }) => `${model} ${provider}`));
    assertEquals(models.usages().length, names.size);
  }));
});
