import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseQuery } from "../../../../domain/core/query.ts";
import { ignoredText, parsePingQuery, readPing } from "../../../../domain/ingest/ping.ts";

function query(text: string): Map<string, string> {
  return parseQuery(text);
}

function ping(text: string, tokenAgent: string | null = null, keepsNotes = true) {
  const parsed = parsePingQuery(text);
  return readPing(parsed, tokenAgent, keepsNotes);
}

Deno.test("decisions, section 3: any parameters are percent-decoded", () => {
  const pairs = fc.array(
    fc.tuple(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme", minLength: 1 })),
  );
  fc.assert(fc.property(pairs, (sent) => {
    const text = sent.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
    const first = new Map(sent.toReversed());
    assertEquals(new Map([...query(text)].sort()), new Map([...first].sort()));
  }));
});

Deno.test("R24: ignored parameters are named with the nearest known one", () => {
  const texts = [["exitcode"], ["exit"], ["code"], ["exitCode", "rc", "foo"], ["rc", "(other)"]];
  assertEquals(texts.map(ignoredText), [
    "ignored exitcode, did you mean exit_code?",
    "ignored exit, did you mean exit_code?",
    "ignored code, did you mean exit_code?",
    "ignored exitCode, did you mean exit_code? ignored rc; ignored foo",
    "ignored rc; ignored (other)",
  ]);
});

Deno.test("the body of a ping is the JSON text of its own value", () => {
  const read = ping("agent=a&metadata=x&cost_usd=0.1");
  const { text, value } = read.body;
  assertEquals(JSON.parse(text), JSON.parse(JSON.stringify(value)));
  assert(!("metadata" in value));
});
