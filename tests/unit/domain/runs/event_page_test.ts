import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type RawJson, utf8Bytes } from "../../../../domain/core/raw_json.ts";
import { EVENT_BYTES_MAX, EVENTS_PAGE_BYTES_MAX } from "../../../../domain/core/limits.ts";
import {
  comparePositions,
  EventPage,
  type EventPosition,
  type PositionedEvent,
} from "../../../../domain/runs/event_page.ts";
import type { EventId } from "../../../../domain/core/ids.ts";
import { eventId } from "../../../support/builders/requests.ts";
import { anyText } from "../../../support/builders/any_text.ts";

function batchOf(batch: number, instants: readonly number[], bytes = 2): PositionedEvent[] {
  return instants.map((ts, index) => ({
    id: eventId(batch * 100 + index) as EventId,
    type: "log",
    ts,
    turn: undefined,
    data: `"${"x".repeat(bytes - 2)}"` as RawJson,
    receivedAt: 0,
    cost: 0n,
    pricedBy: null,
    position: { ts, batch, index },
  }));
}

/** Adds batches in the order of their first event, as far as the page needs them. */
function gather(batches: readonly PositionedEvent[][], after: EventPosition | null, limit: number) {
  const page = new EventPage(after, limit);
  const starts = batches.map((events, batch) => ({
    ts: Math.min(...events.map(({ ts }) => ts)),
    batch,
  })).sort((a, b) => a.ts - b.ts || a.batch - b.batch);
  let read = 0;
  for (const start of starts) {
    if (page.isFinalBefore(start)) break;
    page.add(batches[start.batch] ?? []);
    read++;
  }
  return { ...page.result(), read };
}

Deno.test("section 6: the pages of any batches contain all events in order, each once", () => {
  const instants = fc.array(fc.nat({ max: 6 }), { minLength: 1, maxLength: 8 });
  // Sizes range from small events to a few that fill a page.
  const size = fc.constantFrom(2, 2, 5_000, EVENT_BYTES_MAX);
  const all = fc.array(fc.tuple(instants, size), { maxLength: 12 });
  fc.assert(
    fc.property(all, fc.integer({ min: 1, max: 9 }), (sent, limit) => {
      const batches = sent.map(([ts, bytes], batch) => batchOf(batch, ts, bytes));
      const expected = batches.flat().sort((a, b) => comparePositions(a.position, b.position));
      const results: PositionedEvent[] = [];
      for (let after: EventPosition | null = null;;) {
        const { events, next } = gather(batches, after, limit);
        const bytes = events.reduce((sum, { data }) => sum + utf8Bytes(data), 0);
        assert(events.length <= limit && bytes <= EVENTS_PAGE_BYTES_MAX);
        assert(events.length > 0 || expected.length === 0);
        results.push(...events);
        if (next === null) break;
        after = next;
      }
      assertEquals(results, expected);
    }),
    { numRuns: 40 },
  );
});

Deno.test("section 6: with batches of one instant a page reads only its own number of events, wherever it begins", () => {
  const batches = Array.from({ length: 500 }, (_, batch) => batchOf(batch, [7, 7]));
  for (const after of [null, { ts: 7, batch: 0, index: 1 }]) {
    const { events, read } = gather(batches, after, 1);
    assertEquals(events.length, 1);
    assert(read <= 2, `${read} batches`);
  }
});

Deno.test("the UTF-8 size of a text equals the size of its encoding", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      assertEquals(utf8Bytes(text), new TextEncoder().encode(text).length);
    }),
    { numRuns: 40 },
  );
});
