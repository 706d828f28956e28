/** Runs as trees of steps, with the texts of their spans, and two runs side by side. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { orderAsTree, spanOf, tickStepOf, type TraceStep } from "../../../../domain/runs/trace.ts";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import type { Closing, Opening, RunParts } from "../../../../domain/runs/run.ts";
import { withTraceTexts } from "../../../../domain/runs/trace_texts.ts";
import { alignSteps } from "../../../../domain/runs/compare.ts";

const step = (key: string, parent: string | null, atMs: number): TraceStep => ({
  key,
  parent,
  atMs,
});

const outline = (steps: readonly TraceStep[]) =>
  orderAsTree(steps).map(({ step, depth, below }) => `${"  ".repeat(depth)}${step.key} ${below}`);

Deno.test("tree: children follow their parent, siblings are in order of time", () => {
  const steps = [
    step("run", null, 0),
    step("b", "a", 5),
    step("c", null, 9),
    step("a", null, 1),
    step("d", "a", 2),
  ];
  assertEquals(outline(steps), ["run 4", "  a 2", "    d 0", "    b 0", "  c 0"]);
});

Deno.test("tree: without spans, the order of time is the tree", () => {
  const steps = [step("run", null, 0), step("x", null, 2), step("y", null, 1), step("z", null, 2)];
  assertEquals(outline(steps), ["run 3", "  y 0", "  x 0", "  z 0"]);
});

Deno.test("tree: an unknown parent is the root, and a cycle is broken at its earliest step", () => {
  assertEquals(outline([step("run", null, 0), step("a", "gone", 1)]), ["run 1", "  a 0"]);
  const cycle = [step("run", null, 0), step("a", "b", 2), step("b", "a", 1), step("c", "c", 3)];
  assertEquals(outline(cycle), ["run 3", "  b 1", "    a 0", "  c 0"]);
});

Deno.test("tree: whatever the parents, each step has one place, below its parent", () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e", "run");
  const others = fc.array(fc.record({
    key: name,
    parent: fc.option(name),
    atMs: fc.integer({ min: 0, max: 4 }),
  }));
  fc.assert(fc.property(others, (others) => {
    const steps = [step("run", null, 0), ...others];
    const rows = orderAsTree(steps);
    assertEquals(new Set(rows.map(({ step }) => step)), new Set(steps));
    assertEquals(rows.length, steps.length);
    for (const [i, { depth, below }] of rows.entries()) {
      const inside = rows.slice(i + 1, i + 1 + below);
      assertEquals(inside.every((row) => row.depth > depth), true);
      assertEquals((rows[i + 1 + below]?.depth ?? 0) <= depth, true);
    }
  }));
});

Deno.test("tree: a chain of 20,000 steps is no problem", () => {
  const chain = Array.from(
    { length: 20_000 },
    (_, i) => step(`${i}`, i === 0 ? null : `${i - 1}`, i),
  );
  assertEquals(orderAsTree(chain).at(-1)?.depth, 19_999);
});

Deno.test("spans: only short texts are ids", () => {
  assertEquals(spanOf({ span: { id: "s1", parent: "s0" } }), { id: "s1", parent: "s0" });
  assertEquals(spanOf({ span: { id: 7, parent: "" } }), { id: null, parent: null });
  assertEquals(spanOf({ span: "s1" }), { id: null, parent: null });
  assertEquals(spanOf([]), { id: null, parent: null });
});

Deno.test("ticks: round numbers of milliseconds, seconds, minutes, hours or days; the axis ends at one", () => {
  assertEquals([48_600, 19_000, 2_500_000, 0].map(tickStepOf), [10_000, 5_000, 600_000, 1]);
  fc.assert(fc.property(fc.integer({ min: 1, max: 10 ** 13 }), (lengthMs) => {
    assertEquals(Math.ceil(lengthMs / tickStepOf(lengthMs)) <= 6, true);
  }));
});

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

const steps = (text: string) =>
  [...text].map((name) => ({ name: name.toLowerCase(), failed: name !== name.toLowerCase() }));

const pairs = (a: string, b: string) =>
  alignSteps(steps(a), steps(b)).map(({ a: i, b: j, isEqual }) =>
    `${i === null ? "-" : a[i]}${j === null ? "-" : b[j]}${isEqual ? "" : " differs"}`
  );

Deno.test("compare: equal steps are side by side, others stand alone", () => {
  assertEquals(pairs("abc", "abc"), ["aa", "bb", "cc"]);
  assertEquals(pairs("abXde", "abxe"), ["aa", "bb", "Xx differs", "d- differs", "ee"]);
  assertEquals(pairs("", "a"), ["-a differs"]);
  assertEquals(pairs("ab", "cd"), ["a- differs", "b- differs", "-c differs", "-d differs"]);
});

Deno.test("compare: each step is in one pair, in order, and a run equals itself", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "C"), maxLength: 12 });
  fc.assert(fc.property(text, text, (a, b) => {
    const aligned = alignSteps(steps(a), steps(b));
    const side = (name: "a" | "b") => aligned.flatMap((pair) => pair[name] ?? []);
    assertEquals(side("a"), [...a].map((_, i) => i));
    assertEquals(side("b"), [...b].map((_, i) => i));
    assertEquals(alignSteps(steps(a), steps(a)).every(({ isEqual }) => isEqual), true);
  }));
});
