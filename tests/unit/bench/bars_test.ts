import { assertEquals, assertStringIncludes } from "@std/assert";
import { callRow, fsyncBar, memoryBar } from "../../../bench/ingest.ts";
import type { Measured } from "../../../bench/load.ts";
import { atLeast, barTable } from "../../../bench/report.ts";

const OPEN: Measured = {
  answered: 60_000,
  requestsPerSecond: 20_000,
  p50Ms: 2.5,
  p99Ms: 9,
  cpuUs: 60,
  rssMb: 200,
  failures: 0,
};

Deno.test("a target is met when the median of the rounds reaches it", () => {
  assertEquals(atLeast("open ÷ one commit each, 64 connections", 6, [5.9, 6.1, 7]), {
    name: "open ÷ one commit each, 64 connections",
    bar: "≥ 6",
    measured: "6.10 (5.90 to 7.00)",
    met: true,
  });
  assertEquals(atLeast("open ÷ storing nothing", 0.45, [0.4, 0.3, 0.5]).met, false);
});

Deno.test("an unmeasured target is neither met nor missed", () => {
  const bars = [atLeast("open", 6, []), fsyncBar(new Map()), memoryBar([])];
  assertEquals(bars.filter(({ met }) => met !== null), []);
});

Deno.test("every writing call needs few syncs", () => {
  const bar = (...counts: [string, number][]) => fsyncBar(new Map(counts));
  assertEquals(bar(["open", 0.02], ["finish", 0.04]).met, true);
  assertEquals(bar(["open", 0.02], ["finish", 0.06]).met, false);
});

Deno.test("memory must stay low and flat", () => {
  assertEquals(memoryBar(Array(60).fill(300)).met, true);
  assertEquals(memoryBar(Array(60).fill(450)).met, false);
  assertEquals(memoryBar(Array.from({ length: 60 }, (_, i) => 100 + i)).met, false);
});

Deno.test("memory: the end is compared with the value after the first ten seconds", () => {
  const flat = [...Array(9).fill(100), ...Array(51).fill(200)];
  assertEquals(memoryBar(flat).measured, "200 MB at most; last 10 s 1.00 of the second 10");
  const rising = [...Array(19).fill(100), ...Array(41).fill(150)];
  assertEquals(memoryBar(rising).measured, "150 MB at most; last 10 s 1.50 of the second 10");
  assertEquals(memoryBar([100, 100]).met, null);
});

Deno.test("the tables show the measurements and the failures of the other systems", () => {
  const row = callRow("open", 64, [OPEN], [{ ...OPEN, failures: 7 }]);
  assertEquals(row.at(-1), "0 (baselines 7)");
  assertEquals(callRow("open", 64, [OPEN], [OPEN]).at(-1), "0");
  const text = barTable([atLeast("missed", 6, [5]), atLeast("absent", 6, [])]);
  assertStringIncludes(text, "MISSED");
  assertStringIncludes(text, "not measured");
});
