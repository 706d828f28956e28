import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RawJson } from "../../../../domain/core/raw_json.ts";
import { keepMetadata } from "../../../../domain/runs/run.ts";

function keep(text: string, keysMax = 3) {
  return keepMetadata(text as RawJson, keysMax);
}

const labels = fc.dictionary(
  fc.string({ unit: "grapheme", maxLength: 24 }),
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 60 }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constant([1]),
  ),
  { maxKeys: 12 },
);

Deno.test("decision 38: kept plus dropped is everything sent, and nothing kept exceeds a limit", () => {
  const keysMax = fc.constantFrom(0, 3, 10, Infinity);
  fc.assert(fc.property(labels, keysMax, (sent, max) => {
    const { kept, dropped } = keep(JSON.stringify(sent), max);
    assertEquals(kept.length + dropped, Object.keys(sent).length);
    assert(kept.length <= max);
    for (const [key, value] of kept) {
      assertEquals(sent[key], value);
      assert([...key].length <= 20 && (typeof value !== "string" || [...value].length <= 50));
    }
  }));
});
