import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { EMPTY_LEDGER } from "../../../../domain/runs/ledger.ts";
import type { EventTotals } from "../../../../domain/runs/event_totals.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import type { RawJson } from "../../../../domain/core/raw_json.ts";
import { assemble, type StoredRun } from "../../../../domain/runs/record.ts";
import type { Closing, Opening, Reported } from "../../../../domain/runs/run.ts";
import { type RunSummary, summarize } from "../../../../domain/runs/summary.ts";
import { runId } from "../../../support/builders/requests.ts";

const ID = runId(1) as RunId;
const NOON = Date.UTC(2026, 0, 31, 12);

const opening: Opening = { kind: "run", agent: "a", startedAt: NOON, receivedAt: NOON };
const closing: Closing = { status: "success", finishedAt: NOON + 9, receivedAt: NOON + 10 };

/** Additional data that a run may have. */
const NOTHING = {
  firstBatchAt: null,
  addedScores: [],
  incidents: [],
  checks: [],
  judges: [],
  failure: null,
};

function record(parts: Partial<StoredRun["parts"]>, more: Partial<StoredRun> = {}) {
  const joined = { opening: null, closing: null, ...parts };
  const head = {
    parts: joined,
    totals: EMPTY_LEDGER.totals,
    batchCount: (more.firstBatchAt ?? null) === null ? 0 : 1,
    ages: { oldestAt: null, latestAt: null },
    repricings: 0,
    repriced: undefined,
    ...more,
  };
  // As processing leaves it once it has seen everything.
  const summary = summarize(head, null);
  return assemble(ID, { ...NOTHING, payload: "whole", summary, ...head });
}

/** Stored batches that arrived at these instants. */
function batches(...arrivals: number[]): Partial<StoredRun> {
  if (arrivals.length === 0) return {};
  const [firstAt, latestAt] = [Math.min(...arrivals), Math.max(...arrivals)];
  return { firstBatchAt: firstAt, ages: { oldestAt: arrivals[0] ?? null, latestAt } };
}

function beat(reported: Reported, totals: Partial<EventTotals> = {}) {
  return record({
    opening: { ...opening, kind: "heartbeat" },
    closing: { ...closing, reported },
  }, { totals: { ...EMPTY_LEDGER.totals, ...totals } });
}

Deno.test("decision 16: a close alone is a record without an agent, and is flagged", () => {
  const run = record({ closing });
  assertEquals(
    [run.kind, run.agent, run.startedAt, run.status, run.finishedAt, run.durationMs],
    ["run", null, null, "success", NOON + 9, null],
  );
  assertEquals([run.receivedAt, run.updatedAt, run.flags], [NOON + 10, NOON + 10, ["no_opening"]]);
});

Deno.test("decision 18: events alone are a running record", () => {
  const run = record({}, batches(NOON + 5, NOON + 3));
  assertEquals(
    [run.status, run.receivedAt, run.updatedAt, run.flags],
    ["running", NOON + 3, NOON + 5, ["no_opening"]],
  );
});

Deno.test("decision 30: a sent duration wins over the span, which is never negative but flagged", () => {
  assertEquals(record({ opening, closing }).durationMs, 9);
  assertEquals(record({ opening, closing: { ...closing, durationMs: 4 } }).durationMs, 4);
  assertEquals(record({ closing: { ...closing, durationMs: 0 } }).durationMs, 0);
  const backwards = record({ opening, closing: { ...closing, finishedAt: NOON - 1 } });
  assertEquals([backwards.durationMs, backwards.flags], [0, ["negative_duration"]]);
  assertEquals(record({ opening }).durationMs, null);
});

Deno.test("decision 31: skew is flagged beyond 60 s in either direction, not at 60 s", () => {
  const skew = (ms: number) =>
    record({ opening: { ...opening, startedAt: NOON + ms } }).clockSkewMs;
  assertEquals([60_000, 60_001, -60_000, -60_001].map(skew), [null, 60_001, null, -60_001]);
});

Deno.test("decision 31: a heartbeat that reports a long run ending now is not skewed", () => {
  const long = { ...opening, kind: "heartbeat", startedAt: NOON - 3_600_000 } as const;
  const now = { ...closing, receivedAt: NOON, finishedAt: NOON };
  assertEquals(record({ opening: long, closing: now }).clockSkewMs, null);
  const wrong = { ...now, finishedAt: NOON - 3_600_000 };
  assertEquals(record({ opening: long, closing: wrong }).clockSkewMs, -3_600_000);
});

Deno.test("decision 25: the close's fields win, absent ones keep the opening's", () => {
  const started = {
    ...opening,
    kind: "heartbeat",
    customerId: "c1",
    feature: "f1",
    note: "n1",
    metadata: [["a", 1], ["b", 1]],
    output: '{"o":1}' as RawJson,
    reported: { cost: 5n, model: "m1", inputTokens: 3 },
  } as const satisfies Opening;
  assertEquals(record({ opening: started, closing }).customerId, "c1");
  const run = record({
    opening: started,
    closing: {
      ...closing,
      customerId: "c2",
      metadata: [["b", 2]],
      output: '{"o":2}' as RawJson,
      reported: { cost: 0n, outputTokens: 4 },
    },
  });
  assertEquals([run.customerId, run.feature, run.note], ["c2", "f1", "n1"]);
  assertEquals(run.metadata, [["a", 1], ["b", 2]]);
  assertEquals(run.output, '{"o":2}');
  assertEquals([run.cost.amount, run.usage.inputTokens, run.usage.outputTokens], [0n, 3n, 4n]);
});

Deno.test("decision 17: the cost is final once the close and all batches are counted", () => {
  const head = (batchCount: number, closed: boolean) => ({
    parts: { opening, closing: closed ? closing : null },
    totals: EMPTY_LEDGER.totals,
    batchCount,
    ages: { oldestAt: null, latestAt: null },
    repricings: 0,
    repriced: undefined,
  });
  const cost = (now: ReturnType<typeof head>, summary: RunSummary | null) => {
    const { state, revision } =
      assemble(ID, { ...now, ...NOTHING, payload: "whole", summary }).cost;
    return [state, revision];
  };
  const open = summarize(head(1, false), null);
  assertEquals(cost(head(1, false), open), ["pending", 0]);
  assertEquals(cost(head(1, true), open), ["pending", 0]);
  const first = summarize(head(1, true), open);
  assertEquals(cost(head(1, true), first), ["final", 1]);
  assertEquals(cost(head(2, true), first), ["pending", 1]);
  const second = summarize(head(2, true), first);
  assertEquals(cost(head(2, true), second), ["final", 2]);
  assertEquals(summarize(head(2, true), second), second);
});

Deno.test("pricing rule 1: a stated cost, also 0, wins over any other source", () => {
  const totals = { cost: 9n, models: [usageOf("from-events")] };
  assertEquals(beat({ cost: 7n, model: "m", inputTokens: 1 }, totals).cost.amount, 7n);
  const free = beat({ cost: 0n, model: "m", inputTokens: 1 }, totals).cost;
  assertEquals([free.amount, free.unpricedModels], [0n, []]);
});

Deno.test("pricing rule 3: a model without a price is listed once, and only if it has tokens", () => {
  assertEquals(beat({ model: "m", inputTokens: 0 }).cost.unpricedModels, ["m"]);
  assertEquals(beat({ model: "m" }).cost.unpricedModels, []);
  assertEquals(beat({ inputTokens: 5 }).cost.unpricedModels, []);
  const totals = { models: [usageOf("z"), usageOf("m"), { ...usageOf("m"), provider: "q" }] };
  assertEquals(beat({ model: "m" }, totals).cost.unpricedModels, ["m", "z"]);
});

Deno.test("pricing rule 4: a full run is priced by its events, whatever its close reports", () => {
  const reported = { cost: 7n, model: "m", inputTokens: 5 };
  const totals = { ...EMPTY_LEDGER.totals, cost: 3n };
  const run = record({ opening, closing: { ...closing, reported } }, { totals });
  assertEquals([run.cost.amount, run.cost.unpricedModels], [3n, []]);
  assertEquals(run.usage.inputTokens, 0n);
});

Deno.test("decisions, section 5: more cached than input tokens is flagged on either kind", () => {
  const flags = (run: ReturnType<typeof record>) => run.cost.flags;
  assertEquals(flags(beat({ inputTokens: 1, cachedInputTokens: 1 })), []);
  assertEquals(flags(beat({ cachedInputTokens: 1 })), ["cached_exceeds_input"]);
  const totals = { ...EMPTY_LEDGER.totals, cachedExceedsInput: true };
  assertEquals(flags(record({ opening }, { totals })), ["cached_exceeds_input"]);
});

function usageOf(model: string) {
  return {
    provider: null,
    model,
    calls: 1,
    inputTokens: 1n,
    outputTokens: 1n,
    cachedInputTokens: 0n,
    cost: 0n,
    priced: false,
  };
}

Deno.test("decisions, section 1: the record depends on its parts, not on their order of arrival", () => {
  const near = fc.integer({ min: NOON, max: NOON + 30_000 });
  const plain = record({ opening, closing });
  fc.assert(fc.property(near, near, fc.array(near), (opened, ended, arrivals) => {
    const run = record({
      opening: { ...opening, receivedAt: opened },
      closing: { ...closing, receivedAt: ended },
    }, batches(...arrivals));
    const { receivedAt, updatedAt } = run;
    assertEquals(withoutArrivals(run), withoutArrivals(plain));
    assertEquals([receivedAt, updatedAt], [opened, Math.max(opened, ended, ...arrivals)]);
  }));
});

function withoutArrivals(run: ReturnType<typeof record>) {
  const opening = { ...run.opening, receivedAt: 0 };
  return { ...run, opening, receivedAt: 0, updatedAt: 0, processing: [] };
}
