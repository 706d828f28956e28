import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { alignSteps } from "../../../../domain/runs/compare.ts";

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
