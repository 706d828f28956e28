import { assertEquals } from "@std/assert";
import { factsAtOnce, factsInMemory, scoresFact } from "../../../../domain/checks/facts.ts";
import {
  type AllFacts,
  EVENTS_READ_MAX,
  type FactName,
} from "../../../../domain/checks/program.ts";
import type { EventId, ScoreId } from "../../../../domain/core/ids.ts";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import type { RunHead } from "../../../../domain/runs/cost.ts";
import { NO_EVENTS } from "../../../../domain/runs/event_totals.ts";
import type { Closing, Opening } from "../../../../domain/runs/run.ts";
import type { AddedScore } from "../../../../domain/runs/scores.ts";
import { summarize } from "../../../../domain/runs/summary.ts";

const AT = Date.UTC(2026, 0, 31);
const opening: Opening = {
  kind: "run",
  agent: "support",
  startedAt: AT,
  receivedAt: AT,
  goal: "answer",
  customerId: "acme",
  metadata: [["attempt", 1], ["tier", "free"], ["__proto__", "own"]],
};
const closing: Closing = {
  status: "success",
  finishedAt: AT + 1_500,
  receivedAt: AT + 2_000,
  feature: "chat",
  metadata: [["tier", "gold"]],
  scores: [["quality", 0.5], ["useful", true]],
  output: rawOf({ text: "done", list: [1, 2] }),
};
const totals = {
  ...NO_EVENTS,
  events: 7,
  llmCalls: 3,
  toolCalls: 2,
  errors: 1,
  inputTokens: 900n,
  outputTokens: 90n,
  cachedInputTokens: 9n,
  cost: 610_000_000_000n,
  models: ["new-model", "a-model", "new-model"].map((model, i) => ({
    provider: `provider ${i}`,
    model,
    priced: false,
    calls: 1,
    inputTokens: 0n,
    outputTokens: 0n,
    cachedInputTokens: 0n,
    cost: 0n,
  })),
};

function runOf(fields: Partial<RunHead> = {}) {
  const head: RunHead = {
    parts: { opening, closing },
    totals,
    batchCount: 1,
    ages: { oldestAt: null, latestAt: null },
    repricings: 0,
    repriced: undefined,
    ...fields,
  };
  return { head, summary: summarize(head, null) };
}

const names = (...list: FactName[]) => new Set(list);

Deno.test("facts: a head and its summary give all names that need no read", () => {
  const expected: Omit<AllFacts, "tools" | "calls" | "longest_repeat" | "cost_with_children_usd"> =
    {
      status: "success",
      kind: "run",
      agent: "support",
      customer_id: "acme",
      feature: "chat",
      duration_ms: 1_500,
      goal: "answer",
      cost_usd: 0.61,
      usage: {
        events: 7,
        llm_calls: 3,
        tool_calls: 2,
        errors: 1,
        input_tokens: 900,
        output_tokens: 90,
        cached_input_tokens: 9,
      },
      unpriced: ["a-model", "new-model"],
      metadata: Object.fromEntries([["attempt", 1], ["tier", "gold"], ["__proto__", "own"]]),
      scores: { quality: 0.5, useful: true },
      output: { text: "done", list: [1, 2] },
    };
  const all = Object.keys(expected) as FactName[];
  assertEquals(factsInMemory(runOf(), names(...all, "tools", "cost_with_children_usd")), expected);
  assertEquals(factsAtOnce(runOf(), names(...all)), expected);
});

Deno.test("facts: absent texts are empty, other absent values null or empty", () => {
  const bare = runOf({
    parts: {
      opening: { kind: "heartbeat", agent: "beat", startedAt: AT, receivedAt: AT },
      closing: { status: "failed", finishedAt: AT, receivedAt: AT, closedBy: "heartbeat" },
    },
  });
  const needed = names("goal", "customer_id", "feature", "metadata", "scores", "output", "kind");
  assertEquals(factsInMemory(bare, needed), {
    goal: "",
    customer_id: "",
    feature: "",
    metadata: {},
    scores: {},
    output: null,
    kind: "heartbeat",
  });
});

Deno.test("facts: only the needed ones are built", () => {
  const broken = runOf({
    parts: {
      opening,
      closing: { ...closing, output: rawOf("").slice(1) as typeof closing.output },
    },
  });
  assertEquals(factsInMemory(broken, names("status")), { status: "success" });
});

Deno.test("facts: what must be read, and long texts, are judged later", () => {
  for (const name of ["tools", "calls", "longest_repeat", "cost_with_children_usd"] as const) {
    assertEquals(factsAtOnce(runOf(), names("status", name)), null, name);
  }
  const none = runOf({ totals: { ...totals, toolCalls: 0 } });
  assertEquals(factsAtOnce(none, names("tools", "longest_repeat")), {
    tools: [],
    longest_repeat: { times: 0, name: "" },
  });
  assertEquals(factsAtOnce(none, names("tools", "calls")), null);
  const many = runOf({ totals: { ...totals, toolCalls: 0, events: EVENTS_READ_MAX + 1 } });
  assertEquals(factsAtOnce(many, names("tools")), null);
  const scored = runOf({
    ages: { oldestAt: null, latestAt: null, scores: { count: 1, firstAt: AT, latestAt: AT } },
  });
  assertEquals(factsAtOnce(scored, names("status", "scores")), null);
  assertEquals(factsAtOnce(scored, names("status")), { status: "success" });
  const long = runOf({
    parts: { opening, closing: { ...closing, output: rawOf("x".repeat(8_192)) } },
  });
  assertEquals(factsAtOnce(long, names("output")), null);
  assertEquals(factsAtOnce(long, names("goal")), { goal: "answer" });
  const goal = "x".repeat(8_193);
  const long2 = runOf({ parts: { opening: { ...opening, goal }, closing } });
  assertEquals(factsAtOnce(long2, names("goal")), null);
  const labels = runOf({ parts: { opening: { ...opening, metadata: [["a", goal]] }, closing } });
  assertEquals(factsAtOnce(labels, names("metadata")), null);
});

Deno.test("facts: scores of the finish first, then added ones by time and id; the last one wins", () => {
  const score = (id: string, value: number, receivedAt: number, ts?: number): AddedScore => ({
    id: id as EventId | ScoreId,
    name: "quality",
    value,
    source: "event",
    receivedAt,
    ...ts === undefined ? {} : { ts },
  });
  const latest = score("a", 1, AT, AT + 50);
  const earlier = score("c", 2, AT + 100, AT + 10);
  const sameTime = score("b", 3, AT, AT + 50);
  const byCall = score("d", 4, AT + 60);
  const parts = { opening, closing };
  assertEquals(scoresFact(parts, []), { quality: 0.5, useful: true });
  assertEquals(scoresFact(parts, [earlier]), { quality: 2, useful: true });
  for (const order of [[latest, earlier], [earlier, latest]]) {
    assertEquals(scoresFact(parts, order).quality, 1);
    assertEquals(scoresFact(parts, [...order, sameTime]).quality, 3);
    assertEquals(scoresFact(parts, [byCall, ...order, sameTime]).quality, 4);
  }
});
