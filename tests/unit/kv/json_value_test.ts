/** Stored values as JSON, in exports. */
import { assertEquals } from "@std/assert";
import { fromJson, toJson } from "../../../kv/transfer/export_rows.ts";

import fc from "fast-check";
import { anyText } from "../../support/builders/any_text.ts";

Deno.test("values as JSON: every value comes back as it was", () => {
  const part = fc.oneof(
    anyText(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.bigInt(),
    fc.uint8Array(),
  );
  const tagged = fc.constantFrom("$bytes", "$int", "$sum", "$num", "$obj", "$");
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      part,
      fc.constantFrom(null, undefined, NaN, -0, Infinity),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string(), tagged), tie("value"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  })).value;
  fc.assert(
    fc.property(value, (value) => {
      assertEquals(fromJson(JSON.parse(JSON.stringify(toJson(value)))), value);
    }),
    { numRuns: 40 },
  );
  const counter = new Deno.KvU64(2n ** 64n - 1n);
  assertEquals(fromJson(toJson(counter)), counter);
});
