/** One call that several instrumentations told is priced once; two calls of one never are one. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonFields } from "../../../../domain/core/body.ts";
import { type StoredSpan, TWIN_CALLS_MAX, twinsOf } from "../../../../domain/otlp/twins.ts";
import { makeSpan, runsOf } from "../../../support/builders/spans.ts";
import { SEED } from "../../../support/harness/seed.ts";

interface MadeCall {
  readonly id: string;
  readonly scope?: string;
  readonly parent?: string;
  readonly ts?: number;
  readonly data?: JsonFields;
}

function call({ id, scope = "a", parent, ts = 0, data = {} }: MadeCall): StoredSpan {
  const span = { id, scope, ...parent === undefined ? {} : { parent } };
  return { id, type: "llm_call", ts, data: { latency_ms: 100, ...data, span } };
}

function twins(...calls: readonly MadeCall[]) {
  const pairs = twinsOf(calls.map(call));
  return pairs === null ? null : Object.fromEntries(pairs);
}

const FIGURES = { model: "gpt-4o", input_tokens: 10, output_tokens: 5 };

Deno.test("the same response id is one call, whatever the figures; the one that tells most counts", () => {
  const [outer, sdk] = [
    { id: "1", data: { response_id: "r", input_tokens: 9, cached_input_tokens: 3 } },
    {
      id: "2",
      scope: "com.anthropic.sdk.python",
      data: { response_id: "r", input_tokens: 9, cached_input_tokens: 3, output_tokens: 64 },
    },
  ];
  assertEquals(twins(outer, sdk), { 1: "2" });
  assertEquals(twins(outer, { ...sdk, data: { response_id: "r", input_tokens: 9 } }), { 2: "1" });
  const blind = { id: "3", scope: "c", data: { response_id: "r" } };
  assertEquals(twins(outer, sdk, blind), { 1: "2", 3: "2" });
});

Deno.test("two spans of one instrumentation are two calls, also with one response id", () => {
  const data = { ...FIGURES, response_id: "chatcmpl-1" };
  assertEquals(twins({ id: "1", data }, { id: "2", data }), {});
});

Deno.test("a call below a call is one call, also with steps between", () => {
  const step: StoredSpan = {
    id: "e",
    type: "step",
    ts: 0,
    data: { span: { id: "s", parent: "1" } },
  };
  const spans = [call({ id: "1" }), call({ id: "2", scope: "b", parent: "s" }), step];
  assertEquals([...twinsOf(spans) ?? []], [["2", "1"]]);
  assertEquals([...twinsOf(spans.slice(0, 2)) ?? []], []);
});

Deno.test("equal figures are one call only if one lies inside the other in time", () => {
  const outer = { id: "1", data: FIGURES };
  const inner = (ts: number, data: JsonFields = FIGURES) => ({
    id: "2",
    scope: "b",
    ts,
    data: { ...data, latency_ms: 50 },
  });
  assertEquals(twins(outer, inner(10)), { 2: "1" });
  assertEquals(twins(outer, inner(-2)), { 2: "1" });
  assertEquals(twins(outer, inner(-3)), {});
  assertEquals(twins(outer, inner(55)), { 2: "1" });
  assertEquals(twins(outer, inner(56)), {});
  assertEquals(twins(outer, inner(10, { ...FIGURES, model: "openai/gpt-4o-2024-08-06" })), {
    2: "1",
  });
  assertEquals(twins(outer, inner(10, { ...FIGURES, output_tokens: 6 })), {});
  assertEquals(twins(outer, inner(10, { model: "gpt-4o", output_tokens: 5 })), { 2: "1" });
  assertEquals(twins(outer, inner(10, { model: "gpt-4o" })), {});
});

Deno.test("calls of two instrumentations in parallel are paired one to one", () => {
  const paired = twins(
    { id: "1", scope: "a", ts: 0, data: FIGURES },
    { id: "2", scope: "a", ts: 1, data: FIGURES },
    { id: "3", scope: "b", ts: 1, data: { ...FIGURES, latency_ms: 99 } },
    { id: "4", scope: "b", ts: 2, data: { ...FIGURES, latency_ms: 99 } },
  );
  assertEquals(paired, { 3: "1", 4: "2" });
});

Deno.test("a stream and the record of its end are one call", () => {
  const open = call({ id: "1", parent: "p", data: { model: "gpt-4o" } });
  const end = call({ id: "2", parent: "p", ts: 90, data: { ...FIGURES, latency_ms: 0 } });
  const record = {
    ...end,
    data: { ...end.data, span: { id: "2", parent: "p", scope: "a", record: true } },
  };
  assertEquals([...twinsOf([open, record]) ?? []], [["1", "2"]]);
  assertEquals([...twinsOf([open, end]) ?? []], []);
});

Deno.test("more calls than are decided are not guessed", () => {
  const calls = Array.from({ length: TWIN_CALLS_MAX + 1 }, (_, i) => ({ id: String(i) }));
  assertEquals(twins(...calls), null);
  assertEquals(twins(...calls.slice(1)), {});
});

Deno.test("twins are a function of the set of calls", () => {
  const made = fc.record({
    scope: fc.constantFrom("a", "b", "com.anthropic.sdk.python"),
    ts: fc.nat(40),
    parent: fc.constantFrom("0", "1", "2", undefined),
    data: fc.record({
      model: fc.constantFrom("m", "n"),
      response_id: fc.constantFrom("r", "s", undefined),
      input_tokens: fc.constantFrom(1, undefined),
      output_tokens: fc.constantFrom(1, 2),
      latency_ms: fc.nat(40),
    }),
  });
  const property = fc.property(fc.array(made, { maxLength: 12 }), fc.nat(), (calls, turn) => {
    const spans = calls.map((one, i) => call({ ...one, id: String(i) } as MadeCall));
    const sorted = (pairs: ReadonlyMap<string, string> | null) => [...pairs ?? []].sort();
    const at = spans.length === 0 ? 0 : turn % spans.length;
    const turned = [...spans.slice(at), ...spans.slice(0, at)].reverse();
    const pairs = twinsOf(spans);
    assertEquals(sorted(twinsOf(turned)), sorted(pairs));
    assertEquals(sorted(twinsOf([...spans, ...spans].slice(0, spans.length))), sorted(pairs));
    for (const [twin, priced] of pairs ?? []) assert(!pairs?.has(priced) && twin !== priced);
  });
  fc.assert(property, { seed: SEED, numRuns: 500 });
});

Deno.test("a parentless twin in another trace of the same process goes to the other's run", () => {
  const resource = { "service.instance.id": "p1" };
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
  };
  const traces = ["a".repeat(32), "b".repeat(32)] as const;
  const agent = makeSpan({
    traceId: traces[1],
    resource,
    attributes: { "gen_ai.operation.name": "invoke_agent" },
  });
  const outer = makeSpan({ traceId: traces[1], parentId: agent.spanId, resource, attributes });
  const lone = makeSpan({ traceId: traces[0], scope: "sdk", resource, attributes });
  const runs = runsOf([lone, agent, outer]);
  assertEquals(runs.map(({ run, events }) => [run, events.length]), [[`run_eu_${traces[1]}`, 3]]);
  assertEquals(runs[0]?.facts.begin?.id, agent.spanId);
  const elsewhere = { ...lone, resource: new Map([["service.instance.id", "p2"]]) };
  assertEquals(runsOf([elsewhere, agent, outer]).length, 2);
});
