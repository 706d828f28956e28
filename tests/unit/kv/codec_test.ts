import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RunEvent } from "../../../domain/runs/event.ts";
import { NO_PRICES } from "../../../domain/pricing/price.ts";
import { rateRow } from "../../support/builders/cards.ts";
import type { EventId } from "../../../domain/core/ids.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { FINISH_STATUSES, type Opening } from "../../../domain/runs/run.ts";
import { decodeBatch, decodePart, encodeBatch, encodePart } from "../../../kv/base/codec.ts";

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const instant = fc.nat({ max: 253_402_300_799_999 });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const raw = fc.oneof(
  fc.json().map((json) => json as RawJson),
  fc.constantFrom(
    '{"big":12345678901234567890,"one":1.0}' as RawJson,
    '{ "fields" : {"x":"]}"} , "2":1, "1":2 }' as RawJson,
    '{"output":{"data":[]},"reported":null}' as RawJson,
  ),
);
/** Payloads that share their starts and ends, and the first or the second half of a character. */
const alike = fc.constantFrom("", "a", "\u{1f600}", "\u{1f601}", "\u{1fa00}", "x".repeat(1_100))
  .map((middle) => `{"same":"🙂","middle":"${middle}","end":1}` as RawJson);
const metadata = fc.array(fc.tuple(text, fc.oneof(text, number, fc.boolean())), { maxLength: 4 });
const reported = fc.record({
  cost: fc.bigInt({ min: 0n, max: 10n ** 18n }),
  model: text,
  provider: text,
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: count,
}, { requiredKeys: [], noNullPrototype: true });
const details = {
  metadata,
  reported,
  output: raw,
  note: text,
  customerId: text,
  feature: text,
};
const requiredOfOpening = ["kind", "agent", "startedAt", "receivedAt"] as const;
const opening = fc.record({
  kind: fc.constantFrom("run" as const, "heartbeat" as const),
  agent: text,
  startedAt: instant,
  receivedAt: instant,
  goal: text,
  idleTimeoutSeconds: count,
  ...details,
}, { requiredKeys: [...requiredOfOpening], noNullPrototype: true });
const requiredOfClosing = ["status", "finishedAt", "receivedAt"] as const;
const closing = fc.record({
  status: fc.constantFrom(...FINISH_STATUSES),
  finishedAt: instant,
  receivedAt: instant,
  scores: fc.array(fc.tuple(text, fc.oneof(number, fc.boolean())), { maxLength: 4 }),
  durationMs: count,
  ...details,
}, { requiredKeys: [...requiredOfClosing], noNullPrototype: true });

Deno.test("codec: an opening and a close round-trip, their payload as the exact same text", () => {
  fc.assert(fc.property(fc.oneof(opening, closing), (part) => {
    assertEquals<unknown>(decodePart(encodePart(part as Opening)), { ...part });
  }));
});

/** Ids that share none to all of their bytes but the last. */
const eventId = fc.tuple(fc.nat({ max: 15 }), fc.uint8Array({ minLength: 16, maxLength: 16 }))
  .map(([shared, bytes]) => `evt_eu_${bytes.fill(7, 0, shared).toHex()}` as EventId);

const event = fc.record({
  id: eventId,
  type: text,
  ts: instant,
  turn: fc.option(fc.integer({ min: 1, max: 99 }), { nil: undefined }),
  data: fc.oneof(raw, alike),
  unreadable: fc.constantFrom(undefined, ["latency_ms", "usage.prompt_tokens"]),
  ignored: fc.constantFrom(undefined, ["turns"]),
}).map((each) => ({
  ...each,
  flags: [
    ...each.ignored === undefined ? [] : ["ignored_fields" as const],
    ...each.unreadable === undefined ? [] : ["unreadable_figures" as const],
  ],
}));

Deno.test("codec: a batch round-trips event by event, in order, with its arrival", () => {
  fc.assert(fc.property(fc.array(event, { maxLength: 6 }), instant, (batch, receivedAt) => {
    const events: RunEvent[] = batch.map((each) => ({ ...each, facts: { error: false } }));
    const expected = batch.map((each) => ({ ...each, receivedAt, cost: 0n, pricedBy: null }));
    // Through UTF-8, which has no halves of characters.
    const bytes = new TextEncoder().encode(encodeBatch(events, receivedAt, NO_PRICES));
    const stored = decodeBatch(new TextDecoder().decode(bytes));
    assertEquals(stored, { events: expected, prices: NO_PRICES });
  }));
});

Deno.test("codec: a payload keeps the digits of its event's id, which are stored once", () => {
  const batch = fc.array(fc.tuple(eventId, fc.nat({ max: 20 }), text), { maxLength: 12 });
  fc.assert(fc.property(batch, (spans) => {
    const events: RunEvent[] = spans.map(([id, digits, name]) => {
      const data = JSON.stringify({ name, span: { id: id.slice(-digits), also: id } }) as RawJson;
      return { id, type: "step", ts: 1, data, facts: { error: false } };
    });
    const stored = decodeBatch(encodeBatch(events, 1, NO_PRICES));
    assertEquals(
      stored.events.map(({ id, data }) => ({ id, data })),
      events.map(({ id, data }) => ({ id, data })),
    );
  }));
});

Deno.test("codec: the spans of ten equal calls take less than a page has for one row", () => {
  const spans = Array.from({ length: 10 }, () => crypto.getRandomValues(new Uint8Array(8)).toHex());
  const events: RunEvent[] = spans.map((id, i) => {
    const data = JSON.stringify({
      ...{ name: "chat gpt-4o", provider: "openai", model: "gpt-4o", input_tokens: 120 },
      ...{ output_tokens: 30, latency_ms: 900 },
      span: { id, parent: "00f067aa0ba902b7", scope: "opentelemetry.instrumentation.openai_v2" },
    }) as RawJson;
    const ts = 1_795_948_463_393 + 1_000 * i;
    const eventId = `evt_eu_${ts.toString(16).padStart(12, "0")}7000${id}` as EventId;
    return { id: eventId, type: "llm_call", ts, data, facts: { error: false } };
  });
  const match = { row: rateRow("gpt-4o", 1, 2), match: "exact" as const };
  const costs = events.map(() => 600_000_000);
  const by = events.map(() => 0);
  const text = encodeBatch(events, 1_795_948_473_393, { matches: [match], by, costs });
  // SQLite has 1,002 bytes for a row with its key, which has 95.
  assert(new TextEncoder().encode(text).length < 900);
});

Deno.test("codec: each event keeps its cost, however large, and the row that priced it", () => {
  const rows = ["a", "b"].map((model) => ({ row: rateRow(model, 1, 2), match: "exact" as const }));
  const price = fc.record({
    by: fc.constantFrom(-1, 0, 1),
    cost: fc.oneof(fc.nat(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 90n })),
  });
  fc.assert(fc.property(fc.array(fc.tuple(event, price), { maxLength: 6 }), (batch) => {
    const events: RunEvent[] = batch.map(([each]) => ({ ...each, facts: { error: false } }));
    const by = batch.map(([, price]) => price.by);
    const costs = batch.map(([, { by, cost }]) => by < 0 ? 0 : cost);
    const prices = { matches: rows, by, costs };
    const stored = decodeBatch(encodeBatch(events, 1, prices));
    assertEquals(stored.prices, prices);
    assertEquals(
      stored.events.map(({ cost, pricedBy }) => [cost, pricedBy]),
      by.map((index, i) => [BigInt(costs[i] ?? 0), rows[index] ?? null]),
    );
  }));
});
