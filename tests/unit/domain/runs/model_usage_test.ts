/** A run's lines by model when calls are removed again. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { RUN_MODELS_MAX } from "../../../../domain/core/limits.ts";
import {
  addModelUsage,
  isRest,
  type ModelUsage,
  OTHER_MODELS,
  subtractModelUsage,
} from "../../../../domain/runs/model_usage.ts";
import { ModelSums, TokenSums } from "../../../../domain/runs/event_totals.ts";

function aLine(model: string, priced: boolean, tokens: number): ModelUsage {
  return {
    provider: null,
    model,
    priced,
    calls: 1,
    inputTokens: BigInt(tokens),
    outputTokens: 2n * BigInt(tokens),
    cachedInputTokens: 3n * BigInt(tokens),
    cost: priced ? 7n * BigInt(tokens) : 0n,
  };
}

/** Totals of all lines, and whether each measure is possible for calls. */
function sumOf(lines: readonly ModelUsage[]) {
  const sum = { calls: 0, inputTokens: 0n, outputTokens: 0n, cachedInputTokens: 0n, cost: 0n };
  for (const line of lines) {
    sum.calls += line.calls;
    sum.inputTokens += line.inputTokens;
    sum.outputTokens += line.outputTokens;
    sum.cachedInputTokens += line.cachedInputTokens;
    sum.cost += line.cost;
  }
  return sum;
}

const anyCall = fc.record({
  model: fc.integer({ min: 10, max: 10 + RUN_MODELS_MAX + 5 }).map((n) => `m${n}`),
  priced: fc.boolean(),
  tokens: fc.nat(1_000),
});
type Call = { model: string; priced: boolean; tokens: number };

Deno.test("adding a line and removing it again leaves the lines unchanged", () => {
  const lines = [aLine("a", true, 5), aLine("b", false, 6)].reduce<readonly ModelUsage[]>(
    addModelUsage,
    [],
  );
  for (const model of ["a", "aa", "b", "c"]) {
    for (const priced of [true, false]) {
      const line = aLine(model, priced, 9);
      assertEquals(subtractModelUsage(addModelUsage(lines, line), line), lines);
    }
  }
});

Deno.test("a line without calls is removed", () => {
  assertEquals(subtractModelUsage([aLine("a", true, 5)], aLine("a", true, 5)), []);
});

Deno.test("repricing the last name beyond the limit leaves nothing of it in the remainder line", () => {
  const names = Array.from({ length: RUN_MODELS_MAX + 1 }, (_, n) => `m${n + 10}`);
  const full = names.map((name) => aLine(name, false, 100)).reduce<readonly ModelUsage[]>(
    addModelUsage,
    [],
  );
  const last = aLine(`m${RUN_MODELS_MAX + 9}`, false, 100);
  const remaining = aLine(`m${RUN_MODELS_MAX + 10}`, false, 40);
  // There is space for a name now, but the remainder line already has calls of this model.
  const roomy = addModelUsage(subtractModelUsage(full, last), remaining);
  assertEquals(roomy.filter((line) => !isRest(line)).length, RUN_MODELS_MAX - 1);
  assertEquals(roomy.find(isRest)?.calls, 2);
  const without = subtractModelUsage(roomy, aLine(remaining.model, false, 100));
  assertEquals(sumOf(without.filter(isRest)), sumOf([remaining]));
});

Deno.test("a client's model with the name of the remainder line is an ordinary name if it has a provider", () => {
  const named = { ...aLine(OTHER_MODELS, true, 1), provider: "acme" };
  assert(!isRest(named));
  const lines = Array.from({ length: 3 * RUN_MODELS_MAX }, (_, n) => ({
    ...named,
    provider: `p${n}`,
  })).reduce<readonly ModelUsage[]>(addModelUsage, []);
  assertEquals(lines.length, RUN_MODELS_MAX + 1);
});

Deno.test("adding, repricing and removing calls in any order leaves an exact, non-negative sum", () => {
  const steps = fc.array(fc.record({ call: anyCall, swap: fc.nat(), out: fc.boolean() }), {
    maxLength: 150,
  });
  fc.assert(fc.property(steps, (steps) => {
    const calls: Call[] = [];
    let lines: readonly ModelUsage[] = [];
    const lineOf = ({ model, priced, tokens }: Call) => aLine(model, priced, tokens);
    for (const { call, swap, out } of steps) {
      calls.push(call);
      lines = addModelUsage(lines, lineOf(call));
      const at = swap % calls.length;
      const old = calls[at] as Call;
      lines = subtractModelUsage(lines, lineOf(old));
      calls.splice(at, 1);
      if (out) continue;
      const repriced = { ...old, priced: !old.priced };
      calls.push(repriced);
      lines = addModelUsage(lines, lineOf(repriced));
    }
    assertEquals(sumOf(lines), sumOf(calls.map(lineOf)));
    assert(lines.filter((line) => !isRest(line)).length <= RUN_MODELS_MAX);
    for (const { calls, inputTokens, cost, priced } of lines) {
      assert(calls > 0 && inputTokens >= 0n && cost >= 0n && (priced || cost === 0n));
    }
  }));
});

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
