import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RawJson } from "../../../../domain/core/raw_json.ts";
import { keepMetadata, mergeMetadata, writeMetadata } from "../../../../domain/runs/metadata.ts";

function keep(text: string, keysMax = 3) {
  return keepMetadata(text as RawJson, keysMax);
}

Deno.test("decision 38: the first labels in sent order are kept, the others are counted as dropped", () => {
  assertEquals(keep('{"d":1,"c":"x","b":true,"a":4,"e":5}'), {
    kept: [["d", 1], ["c", "x"], ["b", true]],
    dropped: 2,
  });
});

Deno.test("decision 38: keys that look like integers keep their position", () => {
  assertEquals(keep('{"b":1,"10":2,"2":3,"1":4}').kept, [["b", 1], ["10", 2], ["2", 3]]);
});

Deno.test("decision 38: labels that cannot be stored do not count toward the limit", () => {
  const long = "k".repeat(21);
  const text = `{"${long}":1,"n":null,"o":{"x":1},"l":[1],"v":"${"v".repeat(51)}",` +
    `"i":1e999,"a":1,"b":2,"c":3}`;
  assertEquals(keep(text), { kept: [["a", 1], ["b", 2], ["c", 3]], dropped: 6 });
});

Deno.test("contract 14: a key of 20 and a value of 50 characters fit, one more does not", () => {
  const fits = (key: number, value: number) =>
    keep(`{"${"😀".repeat(key)}":"${"😀".repeat(value)}"}`).kept.length === 1;
  assertEquals([fits(20, 50), fits(21, 50), fits(20, 51)], [true, false, false]);
});

Deno.test("decision 38: numbers and booleans stay typed, an empty key and value are labels", () => {
  assertEquals(keep('{"":"","n":-1.5e3,"f":false}').kept, [["", ""], ["n", -1500], ["f", false]]);
});

Deno.test("decision 38: a plan without metadata drops every label", () => {
  assertEquals(keep('{"a":1,"b":2}', 0), { kept: [], dropped: 2 });
  assertEquals(keep("{}", 0), { kept: [], dropped: 0 });
});

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

Deno.test("decision 38: trimming kept labels again drops nothing", () => {
  fc.assert(fc.property(labels, (sent) => {
    const { kept } = keep(JSON.stringify(sent), 10);
    assertEquals(keep(writeMetadata(kept), 10), { kept, dropped: 0 });
  }));
});

Deno.test("decision 25: the close's labels win, the opening's others keep their position", () => {
  assertEquals(mergeMetadata([["a", 1], ["b", 2]], [["b", 3], ["c", 4]]), [
    ["a", 1],
    ["b", 3],
    ["c", 4],
  ]);
  assertEquals(mergeMetadata(null, [["a", 1]]), [["a", 1]]);
  assertEquals(mergeMetadata([["a", 1]], null), [["a", 1]]);
  assertEquals(mergeMetadata(null, null), null);
});

Deno.test("metadata is written in its order, as null if none was ever sent", () => {
  assertEquals(writeMetadata([["b", "x"], ["1", 2]]), '{"b":"x","1":2}');
  assertEquals(writeMetadata([["__proto__", 1]]), '{"__proto__":1}');
  assertEquals([writeMetadata([]), writeMetadata(null)], ["{}", "null"]);
});
