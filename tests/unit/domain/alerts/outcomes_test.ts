/** Outcomes of a group: what they make does not depend on their order. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RunId } from "../../../../domain/core/ids.ts";
import {
  needsRow,
  NO_OUTCOMES,
  type Outcome,
  type Outcomes,
  tallyOf,
  type Thresholds,
  withGood,
  withOutcome,
  withoutOutcome,
} from "../../../../domain/alerts/outcomes.ts";

const THREE: Thresholds = { consecutive: 3, resolveAfter: 1 };

/** An outcome by its number: the time of its arrival and its key. */
function outcome(n: number, isBad: boolean): Outcome {
  const key = `run_${String(n).padStart(3, "0")}`;
  return { at: n, key, isBad, run: key as RunId, value: null, detail: isBad ? "failed" : null };
}

function outcomesOf(all: readonly Outcome[], thresholds: Thresholds | null): Outcomes {
  return all.reduce((outcomes, one) => withOutcome(outcomes, one, thresholds), NO_OUTCOMES);
}

/** Outcomes by text: `b` is bad, `g` good, each a millisecond after the one before it. */
function named(text: string): Outcome[] {
  return Array.from(text, (letter, i) => outcome(i + 1, letter === "b"));
}

function tally(text: string, thresholds: Thresholds | null = THREE) {
  const { isFiring, count, runs } = tallyOf(outcomesOf(named(text), thresholds), thresholds);
  return { isFiring, count, runs: runs.length };
}

Deno.test("a group fires after enough bad outcomes in a row, until enough good ones", () => {
  assertEquals(tally("bb"), { isFiring: false, count: 2, runs: 2 });
  assertEquals(tally("bbgbb"), { isFiring: false, count: 2, runs: 2 });
  assertEquals(tally("bbb"), { isFiring: true, count: 3, runs: 3 });
  assertEquals(tally("bbbbb"), { isFiring: true, count: 5, runs: 5 });
  assertEquals(tally("bbbg"), { isFiring: false, count: 0, runs: 0 });
  const two = { consecutive: 1, resolveAfter: 2 };
  assertEquals(tally("bgbg", two), { isFiring: true, count: 2, runs: 2 });
  assertEquals(tally("bgbgg", two), { isFiring: false, count: 0, runs: 0 });
});

Deno.test("a group of more than 32 outcomes goes on counting", () => {
  const thresholds = { consecutive: 32, resolveAfter: 32 };
  const bad = "b".repeat(40);
  assertEquals(tally(bad, thresholds), { isFiring: true, count: 40, runs: 20 });
  assertEquals(tally(bad + "g".repeat(31), thresholds).isFiring, true);
  assertEquals(tally(bad + "g".repeat(32), thresholds).isFiring, false);
});

Deno.test("a row is needed while a bad outcome is among the last ones, or it fires", () => {
  const needs = (text: string, thresholds = THREE) =>
    needsRow(outcomesOf(named(text), thresholds), thresholds);
  assertEquals(needs("b"), true);
  assertEquals(needs("bgg"), true);
  assertEquals(needs("bggg"), false);
  assertEquals(needs("ggg"), false);
  assertEquals(needs("bg", { consecutive: 1, resolveAfter: 2 }), true);
  assertEquals(needs("bgg", { consecutive: 1, resolveAfter: 2 }), false);
});

Deno.test("a close that changed replaces its outcome, and a reopened run has none", () => {
  const three = outcomesOf(named("bbb"), THREE);
  const changed = withOutcome(three, outcome(2, false), THREE);
  assertEquals(tallyOf(changed, THREE).isFiring, false);
  assertEquals(tallyOf(withOutcome(changed, outcome(2, true), THREE), THREE).count, 3);
  assertEquals(tallyOf(withoutOutcome(three, outcome(3, true).key), THREE).isFiring, false);
});

Deno.test("any order and repetition of outcomes makes the same", () => {
  const thresholds = fc.record({
    consecutive: fc.integer({ min: 1, max: 6 }),
    resolveAfter: fc.integer({ min: 1, max: 4 }),
  });
  const some = fc.array(fc.boolean(), { minLength: 1, maxLength: 32 });
  fc.assert(fc.property(thresholds, some, fc.infiniteStream(fc.nat()), (limits, bads, random) => {
    const all = bads.map((isBad, i) => outcome(i + 1, isBad));
    const repeated = [...all, ...all.filter((_, i) => i % 3 === 0)];
    const shuffled = repeated.map((one) => ({ one, at: random.next().value as number }))
      .sort((a, b) => a.at - b.at).map(({ one }) => one);
    const [inOrder, mixed] = [outcomesOf(all, limits), outcomesOf(shuffled, limits)];
    assertEquals(tallyOf(mixed, limits), tallyOf(inOrder, limits));
    assertEquals(needsRow(mixed, limits), needsRow(inOrder, limits));
  }));
});

Deno.test("without thresholds a group fires while a thing is bad", () => {
  const both = outcomesOf(named("bb"), null);
  assertEquals(tallyOf(both, null).isFiring, true);
  const one = withGood(both, { at: 9, key: outcome(1, false).key }, true);
  assertEquals([tallyOf(one, null).isFiring, tallyOf(one, null).count], [true, 2]);
  const none = withGood(one, { at: 9, key: outcome(2, false).key }, true);
  assertEquals([tallyOf(none, null).isFiring, tallyOf(none, null).changedAt], [false, 9]);
  assertEquals(tallyOf(withGood(both, { at: 9, key: "all" }, true), null).isFiring, false);
  assertEquals(tallyOf(withGood(both, { at: 9, key: "other" }, false), null).isFiring, true);
});

Deno.test("things that are bad count the same in any order", () => {
  const some = fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 60 });
  fc.assert(fc.property(some, (ns) => {
    const tallied = (order: readonly number[]) => {
      const { count, runs } = tallyOf(outcomesOf(order.map((n) => outcome(n, true)), null), null);
      return { count, runs };
    };
    assertEquals(tallied(ns), tallied(ns.toSorted((a, b) => a - b)));
  }));
});
