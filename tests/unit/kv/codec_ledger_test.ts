import { assert, assertEquals } from "@std/assert";
import { createRateCard } from "../../../domain/pricing/rate_card.ts";
import { factsOf, type RunEvent } from "../../../domain/runs/event.ts";
import type { EventId } from "../../../domain/core/ids.ts";
import { readLlmCall } from "../../../domain/pricing/llm_call.ts";
import {
  decideAppend,
  EMPTY_LEDGER,
  EventIdSet,
  type EventLedger,
} from "../../../domain/runs/ledger.ts";
import { HASH_NUMBERS } from "../../../domain/runs/event_ids.ts";
import { TOOL_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { cutText } from "../../../domain/core/text.ts";
import {
  packRecord,
  STORED_SHAPES,
  storedShape,
  unpackRecord,
} from "../../../kv/base/codec_sums.ts";
import { decodeLedger, encodeLedger } from "../../../kv/base/codec_sums.ts";

import fc from "fast-check";

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
