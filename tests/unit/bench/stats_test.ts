import { assert, assertEquals } from "@std/assert";
import { median, medianOf, ratios, rotate, spread } from "../../../bench/stats.ts";

Deno.test("the median is the middle value, or the mean of the two middle values", () => {
  assertEquals(median([3, 1, 2]), 2);
  assertEquals(median([10, 9, 1, 2]), 5.5);
  assertEquals(median([7]), 7);
  assert(Number.isNaN(median([])));
});

Deno.test("the median of no measurements is null", () => {
  assertEquals(medianOf([null, null]), null);
  assertEquals(medianOf([null, 4, 2]), 3);
});

Deno.test("the spread is the full range divided by the median", () => {
  assertEquals(spread([90, 100, 120]), 0.3);
  assert(Number.isNaN(spread([5])));
});

Deno.test("ratios compare measurements of the same round", () => {
  assertEquals(ratios([6, 9], [3, 2]), [2, 4.5]);
});

Deno.test("each round starts with another system", () => {
  assertEquals([0, 1, 2, 3].map((round) => rotate(["a", "b", "c"], round).join("")), [
    "abc",
    "bca",
    "cab",
    "abc",
  ]);
});
