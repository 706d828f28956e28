/** The tool that a run names for its failures: by the time of the events, not by their arrival. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { EventId } from "../../../../domain/core/ids.ts";
import type { RawJson } from "../../../../domain/core/raw_json.ts";
import { NO_PRICES } from "../../../../domain/pricing/price.ts";
import { type RunEvent, storedFacts } from "../../../../domain/runs/event.ts";
import { addEvents, NO_EVENTS } from "../../../../domain/runs/event_totals.ts";
import { eventId } from "../../../support/builders/requests.ts";

function anEvent(n: number, ts: number, type: string, data: unknown): RunEvent {
  const text = JSON.stringify(data) as RawJson;
  return { id: eventId(n) as EventId, type, ts, data: text, facts: storedFacts(type, text) };
}

function toolOf(...batches: readonly (readonly RunEvent[])[]): string | undefined {
  return batches.reduce((totals, batch) => addEvents(totals, batch, NO_PRICES), NO_EVENTS)
    .failedTool?.name;
}

Deno.test("failed tool: the latest of failed tool calls, in whichever order and batches they arrive", () => {
  const call = fc.record({
    // Instants are often equal: then the id decides.
    ts: fc.nat(3),
    type: fc.constantFrom("tool_call", "llm_call", "log"),
    data: fc.constantFrom({ name: "a", error: "x" }, { name: "b", status: "error" }, { name: "c" }),
  });
  const calls = fc.array(call, { maxLength: 12 }).map((all) =>
    all.map(({ ts, type, data }, n) => anEvent(n + 1, ts, type, data))
  );
  const arrival = calls.chain((events) =>
    fc.tuple(
      fc.constant(events),
      fc.shuffledSubarray(events, { minLength: events.length }),
      fc.nat(events.length),
    )
  );
  fc.assert(fc.property(arrival, ([events, sent, at]) => {
    const failed = events.filter(({ type, data }) => type === "tool_call" && !data.includes('"c"'));
    const [last] = failed.toSorted((a, b) => b.ts - a.ts || (a.id < b.id ? 1 : -1));
    const expected = last && JSON.parse(last.data).name;
    assertEquals(toolOf(sent.slice(0, at), sent.slice(at)), expected);
  }));
});

Deno.test("failed tool: named as checks name tools, and cut to 128 characters", () => {
  const named = (data: unknown) => toolOf([anEvent(1, 0, "tool_call", data)]);
  assertEquals(named({ tool: "t", error: true }), "t");
  assertEquals(named({ name: "", tool_name: "t", status: "error" }), "t");
  assertEquals(named({ function: "f", error: { code: 1 } }), "f");
  assertEquals(named({ function: { name: "g" }, error: "x" }), "g");
  assertEquals(named({ name: "🔧".repeat(200), error: "x" }), "🔧".repeat(128));
  assertEquals(named({ error: "it has no name" }), undefined);
  assertEquals(named({ name: 7, error: "x" }), undefined);
  assertEquals(named({ name: "t", error: false }), undefined);
  const [older, nameless] = [{ name: "t", error: "x" }, { error: "x" }];
  const events = [anEvent(1, 1, "tool_call", older), anEvent(2, 2, "tool_call", nameless)];
  assertEquals(toolOf(events), "t");
});
