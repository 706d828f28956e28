import { assertEquals } from "@std/assert";
import { CallFacts, longestRepeat, type Repeat } from "../../../../domain/checks/calls.ts";
import { CALLS_MAX, EVENT_FACTS, type FactName } from "../../../../domain/checks/program.ts";
import type { EventId } from "../../../../domain/core/ids.ts";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import fc from "fast-check";

const ALL: ReadonlySet<FactName> = new Set(EVENT_FACTS);

interface Sent {
  readonly ts: number;
  readonly type?: string;
  readonly id?: string;
  readonly data: unknown;
}

function factsOf(events: readonly Sent[], needed = ALL) {
  const facts = new CallFacts(needed);
  for (const { ts, type = "tool_call", id = `evt_${ts}`, data } of events) {
    facts.add({ id: id as EventId, ts, type, data: rawOf(data) });
  }
  return facts.result();
}

const tools = (...data: unknown[]) => factsOf(data.map((data, ts) => ({ ts, data }))).tools;
const repeat = (...data: unknown[]) =>
  factsOf(data.map((data, ts) => ({ ts, data }))).longest_repeat;

Deno.test("calls: tools by name, error, latency and input, in the forms of known clients", () => {
  assertEquals(
    tools(
      { name: "search", input: { q: "x" }, latency_ms: 40 },
      { tool: "fetch", args: [1], duration_ms: "7.6", error: "timeout" },
      { function: { name: "sum", arguments: '{"a":1}' }, error: { message: "no such column" } },
      { tool_name: "none", status: "error" },
      { error: true, message: "it broke" },
      { name: 5, error: true, input: null },
      "no object",
    ),
    [
      { name: "search", error: "", latency_ms: 40, input: { q: "x" } },
      { name: "fetch", error: "timeout", latency_ms: 8, input: [1] },
      { name: "sum", error: "no such column", latency_ms: null, input: { a: 1 } },
      { name: "none", error: "error", latency_ms: null, input: null },
      { name: "", error: "it broke", latency_ms: null, input: null },
      { name: "", error: "error", latency_ms: null, input: null },
      { name: "", error: "", latency_ms: null, input: null },
    ],
  );
});

Deno.test("calls: model calls by provider, model, error, latency and tokens", () => {
  const calls = factsOf([
    {
      ts: 2,
      type: "llm_call",
      data: { provider: "p", model: "m", input_tokens: 5, output_tokens: 2, latency_ms: 90 },
    },
    { ts: 1, type: "llm_call", data: { error: { code: 500 } } },
    { ts: 3, type: "llm_call", data: { usage: { prompt_tokens: 7, completion_tokens: 3 } } },
    { ts: 0, type: "log", data: { message: "not a call" } },
  ]).calls;
  const absent = { provider: "", model: "", error: "", latency_ms: null };
  assertEquals(calls, [
    { ...absent, error: '{"code":500}', input_tokens: 0, output_tokens: 0 },
    { provider: "p", model: "m", error: "", latency_ms: 90, input_tokens: 5, output_tokens: 2 },
    { ...absent, input_tokens: 7, output_tokens: 3 },
  ]);
});

Deno.test("calls: the first ones by instant, then id, whatever the order of arrival", () => {
  const sent = Array.from({ length: 5 * CALLS_MAX }, (_, i): Sent => ({
    ts: Math.floor(i / 3),
    id: `evt_${String(i).padStart(5, "0")}`,
    data: { name: `tool ${i}` },
  }));
  const first = sent.slice(0, CALLS_MAX).map(({ data }) => data);
  for (const order of [sent, sent.toReversed(), sent.toSorted((a, b) => (a.ts % 7) - (b.ts % 7))]) {
    assertEquals(factsOf(order).tools?.map(({ name }) => ({ name })), first);
  }
});

Deno.test("calls: only needed values are made", () => {
  const sent = [{ ts: 1, data: { name: "a" } }, { ts: 2, type: "llm_call", data: {} }];
  assertEquals(Object.keys(factsOf(sent, new Set(["calls"]))), ["calls"]);
  assertEquals(factsOf(sent, new Set(["longest_repeat"])), {
    longest_repeat: { times: 1, name: "a" },
  });
  assertEquals(factsOf([], ALL), {
    tools: [],
    calls: [],
    longest_repeat: { times: 0, name: "" },
  });
});

Deno.test("longest repeat: calls are equal if name and input are, with keys in any order", () => {
  const a = { name: "a", input: { x: 1, y: { b: 2, c: [{ d: 1, e: 2 }] } } };
  const same = { name: "a", input: { y: { c: [{ e: 2, d: 1 }], b: 2 }, x: 1 } };
  const text = { name: "a", arguments: JSON.stringify(same.input) };
  assertEquals(repeat(a, same, text), { times: 3, name: "a" });
  assertEquals(repeat(a, { ...a, input: { x: 1 } }), { times: 1, name: "a" });
  assertEquals(repeat(a, { ...a, name: "b" }, a, { ...a, name: "b" }), { times: 2, name: "a, b" });
  // A list is not an object with its indexes as keys, and a text is not its value.
  const different = [[1], { 0: 1 }, "1", 1].map((input) => ({ name: "a", input }));
  assertEquals(repeat(...different), { times: 1, name: "a" });
});

Deno.test("longest repeat: it looks at all tool calls, not at the first ones alone", () => {
  const others = Array.from({ length: CALLS_MAX }, (_, i) => ({ name: `tool ${i}` }));
  const loop = Array.from({ length: 30 }, (_, i) => ({ name: i % 2 === 0 ? "plan" : "look" }));
  assertEquals(repeat(...others, ...loop), { times: 15, name: "plan, look" });
});

/** Tries each cycle at each place, and counts how often it follows itself. */
function naive(calls: readonly number[]): Repeat {
  let best: Repeat = { times: 0, start: 0, length: 0 };
  for (let length = 1; length <= 4; length++) {
    for (let start = 0; start + length <= calls.length; start++) {
      const cycle = calls.slice(start, start + length).join();
      let times = 1;
      while (calls.slice(start + times * length, start + (times + 1) * length).join() === cycle) {
        times++;
      }
      if (times > best.times) best = { times, start, length };
    }
  }
  return best;
}

Deno.test("longest repeat: it finds what a search of all cycles finds", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 }), (calls) => {
      assertEquals(longestRepeat(calls), naive(calls));
    }),
    { numRuns: 500 },
  );
  // Five calls are no cycle.
  assertEquals(longestRepeat([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]).times, 1);
});
