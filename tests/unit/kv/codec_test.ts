import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { factsOf, type RunEvent } from "../../../domain/runs/event.ts";
import { NO_PRICES } from "../../../domain/pricing/price.ts";
import { rateRow } from "../../support/builders/cards.ts";
import type { EventId } from "../../../domain/core/ids.ts";
import { type RawJson, rawOf } from "../../../domain/core/raw_json.ts";
import { FINISH_STATUSES, type Opening } from "../../../domain/runs/run.ts";
import { decodeBatch, decodePart, encodeBatch, encodePart } from "../../../kv/base/codec.ts";
import { createRateCard } from "../../../domain/pricing/rate_card.ts";
import { readLlmCall } from "../../../domain/pricing/llm_call.ts";
import {
  decideAppend,
  EMPTY_LEDGER,
  EventIdSet,
  type EventLedger,
} from "../../../domain/runs/ledger.ts";
import { HASH_NUMBERS } from "../../../domain/runs/event_ids.ts";
import { TOOL_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { cutText } from "../../../domain/core/text.ts";
import {
  decodeLedger,
  encodeLedger,
  packRecord,
  STORED_SHAPES,
  storedShape,
  unpackRecord,
} from "../../../kv/base/codec_sums.ts";

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

const VALUE_BYTES_MAX = 65_536;
const CARD = createRateCard([]);
const FAILED_TOOL = { ts: 1e12, id: `evt_eu_${"f".repeat(32)}` as EventId, name: "open_file" };
const NO_IDS = new EventIdSet(new Uint32Array(HASH_NUMBERS));

function aCall(n: number, model: string, provider: string, ts: number, tokens: number): RunEvent {
  const data = { model, provider, input_tokens: tokens, output_tokens: tokens };
  return {
    id: `evt_eu_${n.toString(16).padStart(32, "0")}` as EventId,
    type: "llm_call",
    ts,
    data: rawOf(data),
    facts: factsOf("llm_call", data, readLlmCall(data)),
  };
}

/** Appends batches, one for each arrival. */
function ledgerWith(
  arrivals: readonly number[],
  eventsAt: (n: number, at: number) => RunEvent,
): EventLedger {
  return arrivals.reduce(
    (ledger, at, n) => decideAppend(ledger, NO_IDS, [eventsAt(n, at)], at, CARD).ledger,
    EMPTY_LEDGER,
  );
}

Deno.test("codec: a ledger round-trips after any batches", () => {
  const instant = fc.nat({ max: 253_402_300_799_999 });
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
  const batch = fc.tuple(instant, instant, text, fc.nat({ max: Number.MAX_SAFE_INTEGER }));
  fc.assert(fc.property(fc.array(batch, { maxLength: 40 }), (batches) => {
    const ledger = ledgerWith(batches.map(([at]) => at), (n) => {
      const [, ts = 0, model = "", tokens = 0] = batches[n] ?? [];
      return aCall(n, model, model, ts, tokens);
    });
    for (
      const each of [
        ledger,
        { ...ledger, scores: { count: 2, firstAt: 1, latestAt: 3, dropped: 4 } },
        { ...ledger, removed: 1, oldestAt: null, months: {}, repricings: 7 },
        { ...ledger, totals: { ...ledger.totals, failedTool: FAILED_TOOL } },
      ]
    ) assertEquals(decodeLedger(encodeLedger(each)), each);
  }));
});

Deno.test("codec: the ledger of a batch of ten events is small", () => {
  const events = Array.from({ length: 10 }, (_, n) => aCall(n, "gpt-4o", "openai", 1e12, 1_000));
  const { ledger } = decideAppend(EMPTY_LEDGER, NO_IDS, events, 1e12, CARD);
  const bytes = encodeLedger(ledger).length;
  assert(bytes <= 440, `${bytes} bytes`);
});

Deno.test("codec: the largest ledger fits in one value", () => {
  let seed = 1;
  // Four bytes of UTF-8 for each character, and nothing to compress.
  const name = () =>
    Array.from({ length: 256 }, () => {
      seed = Math.imul(seed, 1_103_515_245) + 12_345;
      return String.fromCodePoint(0x10000 + (seed >>> 12));
    }).join("");
  const arrivals = Array.from({ length: 255 }, (_, n) => 1e12 + n * 1e9);
  const { totals, ...rest } = ledgerWith(
    arrivals,
    (n, at) => aCall(n, n < 40 ? name() : "x", name(), at - n * 1e8, Number.MAX_SAFE_INTEGER),
  );
  const failedTool = { ...FAILED_TOOL, name: cutText(name(), TOOL_NAME_CHARS_MAX) };
  const ledger = { ...rest, totals: { ...totals, failedTool } };
  assertEquals(ledger.tail.batches.length, 255);
  assert(encodeLedger(ledger).length <= VALUE_BYTES_MAX);
  assertEquals(decodeLedger(encodeLedger(ledger)), ledger);
});

Deno.test("codec: a record keeps fields that its shape does not list", () => {
  const shape = storedShape("test", {
    a: "plain",
    inner: { cost: "big" },
    list: [{ n: "plain" }],
    o: "optional",
  });
  // No stored row has it: the test of the format may run in the same isolate.
  STORED_SHAPES.delete("test");
  for (
    const record of [
      { a: null, inner: { cost: 2n ** 80n, other: [1] }, list: [{ n: 1, x: "y" }], more: { b: 1 } },
      { a: 1, inner: null, list: [], o: 0, finalAt: 5 },
      { a: "", list: [{ n: 0 }], inner: { cost: -5n } },
      { a: 0, list: [] },
    ]
  ) {
    const json = JSON.stringify(packRecord(record, shape));
    assertEquals(unpackRecord(JSON.parse(json), shape), record);
  }
});
