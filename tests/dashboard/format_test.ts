/** Formatting of numbers. */
import { assertEquals } from "@std/assert";
import { percentText } from "../../routes/dashboard/components/format.ts";

Deno.test("a share is shown as 0% or 100% only if it is exact", () => {
  const shares: readonly (readonly [number | bigint, number | bigint, string])[] = [
    [0, 10, "0%"],
    [4_113, 25_000_000, "< 1%"],
    [1, 100, "1%"],
    [999, 1_000, "> 99%"],
    [1_000n, 1_000n, "100%"],
    [6, 5, "120%"],
    [0, Infinity, "0%"],
    [0n, 0n, "–"],
    [5, 0, "–"],
  ];
  for (const [part, all, text] of shares) assertEquals(percentText(part, all), text);
});
