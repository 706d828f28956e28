import { assert, assertEquals } from "@std/assert";
import { inTurn } from "../../../bench/load.ts";
import { mean95, median, ratios } from "../../../bench/report.ts";

Deno.test("the median is the middle value, or the mean of the two middle values", () => {
  assertEquals(median([3, 1, 2]), 2);
  assertEquals(median([10, 9, 1, 2]), 5.5);
  assertEquals(median([7]), 7);
  assert(Number.isNaN(median([])));
});

Deno.test("the interval of a mean is as wide as Student's distribution has it", () => {
  // Of 20 values, 2.093 standard errors; each is 1 away from the mean.
  const [mean, from, to] = mean95(Array.from({ length: 20 }, (_, n) => 5 + (n % 2 === 0 ? 1 : -1)));
  const error = 2.093 / Math.sqrt(19);
  assertEquals(mean, 5);
  assert(Math.abs(mean - from - error) < 0.005 && Math.abs(to - mean - error) < 0.005);
});

Deno.test("ratios compare measurements of the same round", () => {
  const of = (value: number) => value;
  assertEquals(ratios([6, 9], [3, 2], of), [2, 4.5]);
  assertEquals(ratios([6, 9], [3], of), [2]);
});

Deno.test("each round starts with another system", async () => {
  const order: string[] = [];
  const way = (name: string) => () => Promise.resolve(order.push(name));
  const results = await inTurn("test", 4, { a: way("a"), b: way("b"), c: way("c") });
  assertEquals(order.join(""), "abcbcacababc");
  assertEquals(results, { a: [1, 6, 8, 10], b: [2, 4, 9, 11], c: [3, 5, 7, 12] });
});
