/** Goal, output and error of a trace's run from the payloads of its spans. */
import { assertEquals } from "@std/assert";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import type { Closing, Opening, RunParts } from "../../../../domain/runs/run.ts";
import { withTraceTexts } from "../../../../domain/runs/trace_texts.ts";

const OPENING: Opening = { kind: "run", agent: "a", startedAt: 1, receivedAt: 1 };
const CLOSING: Closing = { status: "failed", finishedAt: 2, receivedAt: 2 };
const PARTS: RunParts = { opening: OPENING, closing: CLOSING };

function textsOf(parts: RunParts, begin: unknown, end: unknown = {}, status: unknown = {}) {
  const payloads = { begin: rawOf(begin), end: rawOf(end), status: rawOf(status) };
  const { opening, closing } = withTraceTexts(parts, payloads);
  return [opening?.goal, closing?.output, closing?.note];
}

Deno.test("the goal is the last text of the user, and the output the text of the answer", () => {
  const said = (role: string, text: string) => ({ role, parts: [{ type: "text", content: text }] });
  const cases: readonly (readonly [unknown, string])[] = [
    ["book a table", "book a table"],
    [[said("user", "hello"), said("assistant", "yes?"), said("user", "a table")], "a table"],
    [[{ role: "system", content: "be brief" }, { role: "user", content: "hi" }], "hi"],
    [{ messages: [{ role: "user", content: "hi" }] }, "hi"],
    [{ city: "Rome" }, '{"city":"Rome"}'],
  ];
  for (const [input, goal] of cases) assertEquals(textsOf(PARTS, { input })[0], goal);
  const answers: readonly (readonly [unknown, string])[] = [
    ["done", '"done"'],
    [[said("assistant", "done")], '"done"'],
    [{ table: 4 }, '{"table":4}'],
    [false, "false"],
  ];
  for (const [output, sent] of answers) assertEquals(textsOf(PARTS, {}, { output })[1], sent);
});

Deno.test("parts that a call sent win, and only a failed run has the error of its span", () => {
  const sent = { opening: { ...OPENING, goal: "g" }, closing: { ...CLOSING, output: rawOf(1) } };
  const [begin, end, status] = [{ input: "other" }, { output: "other" }, { error: "no table" }];
  assertEquals(textsOf(sent, begin, end, status), ["g", "1", "no table"]);
  const fine = { opening: OPENING, closing: { ...CLOSING, status: "success" } } as const;
  assertEquals(textsOf(fine, begin, end, status), ["other", '"other"', undefined]);
  assertEquals(textsOf(PARTS, null, 3, []), [undefined, undefined, undefined]);
  assertEquals(textsOf({ opening: OPENING, closing: null }, begin, end), [
    "other",
    undefined,
    undefined,
  ]);
});
