import { assertEquals } from "@std/assert";
import { type EventTotals, NO_EVENTS } from "../../../../domain/runs/event_totals.ts";
import type { ModelUsage } from "../../../../domain/runs/model_usage.ts";
import type { Closing, Opening, Reported } from "../../../../domain/runs/run.ts";
import { costOfRun, type RunHead, usageOfRun } from "../../../../domain/runs/cost.ts";
import { rateRow } from "../../../support/builders/cards.ts";

const AT = Date.UTC(2026, 0, 31, 12);
const LINE: ModelUsage = {
  provider: null,
  model: "m",
  priced: true,
  calls: 2,
  inputTokens: 10n,
  outputTokens: 1n,
  cachedInputTokens: 0n,
  cost: 30n,
};
const TOTALS: EventTotals = {
  ...NO_EVENTS,
  events: 3,
  llmCalls: 2,
  inputTokens: 10n,
  outputTokens: 1n,
  cost: 30n,
  models: [LINE],
};
const MATCH = { row: rateRow("m", 1, 1), match: "exact" } as const;

function opened(kind: Opening["kind"], reported?: Reported): Opening {
  return { kind, agent: "a", startedAt: AT, receivedAt: AT, reported };
}

function closed(reported?: Reported): Closing {
  return { status: "success", finishedAt: AT, receivedAt: AT, reported };
}

function head(
  opening: Opening | null,
  closing: Closing | null,
  more: Partial<RunHead> = {},
): RunHead {
  return {
    parts: { opening, closing },
    totals: NO_EVENTS,
    batchCount: 0,
    ages: { oldestAt: null, latestAt: null },
    repricings: 0,
    repriced: undefined,
    ...more,
  };
}

Deno.test("pricing rule 4: a run costs what its events cost, whatever its close reports", () => {
  const run = head(opened("run"), closed({ cost: 999n, model: "x", inputTokens: 5 }), {
    totals: TOTALS,
  });
  assertEquals(costOfRun(run), {
    amount: 30n,
    models: [LINE],
    calls: 2,
    unpricedModels: [],
    flags: [],
  });
  assertEquals(usageOfRun(run).inputTokens, 10n);
});

Deno.test("pricing rule 1: a stated cost, also 0, wins over tokens and events and belongs to no model", () => {
  for (const cost of [0n, 7n]) {
    const sum = costOfRun(head(opened("heartbeat"), closed({ cost }), { totals: TOTALS }));
    assertEquals([sum.amount, sum.models.map(({ cost }) => cost), sum.calls], [cost, [0n], 2]);
  }
});

Deno.test("pricing rule 1: a stated cost belongs to the model it names, which needs no price", () => {
  const reported = { cost: 7n, model: "unknown", inputTokens: 4 };
  const sum = costOfRun(head(opened("heartbeat"), closed(reported)));
  assertEquals([sum.amount, sum.unpricedModels, sum.calls], [7n, [], 1]);
  assertEquals(sum.models.map(({ model, cost, inputTokens }) => [model, cost, inputTokens]), [
    ["unknown", 7n, 4n],
  ]);
});

Deno.test("pricing rule 2: a heartbeat's tokens are one call at the price in force when it was stored", () => {
  const reported = { model: "m", inputTokens: 4, price: { cost: 12n, by: MATCH } };
  const sum = costOfRun(head(opened("heartbeat"), closed(reported), { totals: TOTALS }));
  assertEquals([sum.amount, sum.calls, sum.unpricedModels], [12n, 3, []]);
  assertEquals(sum.models.map(({ model, calls, cost }) => [model, calls, cost]), [["m", 3, 12n]]);
});

Deno.test("pricing rule 3: a model without a price costs nothing and is named once", () => {
  const line = { ...LINE, model: "b", priced: false, cost: 0n };
  const totals = { ...TOTALS, models: [{ ...line, model: "a" }, line], cost: 0n };
  const of = (reported: Reported) => {
    const sum = costOfRun(head(opened("heartbeat"), closed(reported), { totals }));
    return [sum.amount, sum.unpricedModels];
  };
  assertEquals(of({ model: "b" }), [0n, ["a", "b"]]);
  // The tokens of a heartbeat say what all of its run costs.
  assertEquals(of({ model: "b", outputTokens: 1 }), [0n, ["b"]]);
});

Deno.test("R34: calls count where heartbeats say neither a cost nor the tokens of a model", () => {
  const amounts = [{}, { model: "m" }, { inputTokens: 4 }, { model: "m", inputTokens: 4 }]
    .map((reported) =>
      costOfRun(head(opened("heartbeat"), closed(reported), { totals: TOTALS })).amount
    );
  assertEquals(amounts, [30n, 30n, 30n, 0n]);
});

Deno.test("pricing: a heartbeat that names only a model is not a call", () => {
  const sum = costOfRun(head(opened("heartbeat"), closed({ model: "m" })));
  assertEquals([sum.models, sum.calls, sum.unpricedModels], [[], 0, []]);
});

Deno.test("pricing: repricing replaces the first price or removes it", () => {
  const reported = { model: "m", inputTokens: 4, price: { cost: 12n, by: MATCH } };
  const of = (repriced: RunHead["repriced"], stated: Reported = {}) => {
    const sum = costOfRun(
      head(opened("heartbeat"), closed({ ...reported, ...stated }), { repriced }),
    );
    return [sum.amount, sum.unpricedModels];
  };
  assertEquals(of(undefined), [12n, []]);
  assertEquals(of({ cost: 20n, by: MATCH }), [20n, []]);
  assertEquals(of(null), [0n, ["m"]]);
  // A stated cost is never changed.
  assertEquals(of({ cost: 20n, by: MATCH }, { cost: 5n }), [5n, []]);
});

Deno.test("usage: a heartbeat's reported tokens add to its events, the close's report first", () => {
  const opening = opened("heartbeat", { inputTokens: 100, outputTokens: 50 });
  const run = head(opening, closed({ inputTokens: 7, cachedInputTokens: 2 }), { totals: TOTALS });
  const { inputTokens, outputTokens, cachedInputTokens, events } = usageOfRun(run);
  assertEquals([inputTokens, outputTokens, cachedInputTokens, events], [17n, 51n, 2n, 3]);
});

Deno.test("flags: more cached than input tokens are flagged, for events and for heartbeats alone", () => {
  const flags = (run: RunHead) => costOfRun(run).flags;
  const odd = { ...NO_EVENTS, cachedExceedsInput: true };
  assertEquals(flags(head(opened("run"), null, { totals: odd })), ["cached_exceeds_input"]);
  const reported = { model: "m", inputTokens: 1, cachedInputTokens: 2 };
  assertEquals(flags(head(opened("heartbeat"), closed(reported))), ["cached_exceeds_input"]);
  assertEquals(flags(head(opened("heartbeat"), closed({ ...reported, inputTokens: 2 }))), []);
  assertEquals(flags(head(opened("run"), closed(reported))), []);
});
