import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  addToMinimap,
  BUCKETS_MAX,
  KIND_BITS,
  type Minimap,
  minimapBuckets,
} from "../../../../domain/runs/minimap.ts";

interface Event {
  readonly type: string;
  readonly ts: number;
  readonly facts: { readonly error: boolean; readonly latencyMs?: number };
}

const events: fc.Arbitrary<Event[]> = fc.array(
  fc.record({
    type: fc.constantFrom("llm_call", "tool_call", "log", "step"),
    ts: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 2 ** 45 })),
    facts: fc.record(
      { error: fc.boolean(), latencyMs: fc.integer({ min: 0, max: 100_000 }) },
      { requiredKeys: ["error"] },
    ),
  }),
  { minLength: 1, maxLength: 30 },
);

Deno.test("a minimap depends on the set of events, not on their order or batches", () => {
  fc.assert(fc.property(events, fc.integer({ min: 1, max: 7 }), (all, size) => {
    const once = addToMinimap(undefined, all);
    let inBatches: Minimap | undefined;
    const reversed = all.toReversed();
    for (let at = 0; at < all.length; at += size) {
      inBatches = addToMinimap(inBatches, reversed.slice(at, at + size));
    }
    assertEquals(inBatches, once);
    assertEquals(addToMinimap(once, all), once);
  }));
});

Deno.test("each event marks its kind in the buckets from its start to its end", () => {
  fc.assert(fc.property(events, (all) => {
    const { startMs, widthMs, kinds } = minimapBuckets(addToMinimap(undefined, all));
    assert(kinds.length <= BUCKETS_MAX);
    for (const { type, ts, facts: { error, latencyMs = 0 } } of all) {
      const bit = type === "llm_call"
        ? KIND_BITS.model
        : type === "tool_call"
        ? KIND_BITS.tool
        : KIND_BITS.other;
      const bits = bit | (error ? KIND_BITS.failed : 0);
      for (const ms of [ts, ts + latencyMs]) {
        const kind = kinds[Math.floor((ms - startMs) / widthMs)] ?? 0;
        assertEquals(kind & bits, bits);
      }
    }
    // The narrowest width that fits: half of it would take more buckets than there may be.
    if (widthMs > 1) {
      const low = Math.min(...all.map(({ ts }) => ts));
      const high = Math.max(...all.map(({ ts, facts }) => ts + (facts.latencyMs ?? 0)));
      const half = widthMs / 2;
      assert(Math.floor(high / half) - Math.floor(low / half) >= BUCKETS_MAX);
    }
  }));
});

Deno.test("equal neighbours share a letter, and a map takes at most one letter a bucket", () => {
  const event = (type: string, ts: number, latencyMs: number) => ({
    type,
    ts,
    facts: { error: false, latencyMs },
  });
  const map = addToMinimap(undefined, [event("llm_call", 0, 9), event("tool_call", 12, 1)]);
  assertEquals(map, { scale: 0, first: 0, cells: "b10a2c2" });
});
