import { assertEquals, assertStringIncludes } from "@std/assert";
import { barsOf } from "../../../bench/bars.ts";
import type { CallResult } from "../../../bench/calls.ts";
import { report } from "../../../bench/results.ts";

const OPEN: CallResult = {
  call: "open",
  connections: 64,
  figures: {
    requestsPerSecond: 20_000,
    p50Ms: 2.5,
    p99Ms: 9,
    spread: 0.1,
    cpuUs: 60,
    rssMb: 200,
    failures: 0,
  },
  overCommit: [5.9, 6.1, 7],
  overNothing: [0.4, 0.3, 0.5],
  baselineFailures: 0,
};

Deno.test("a bar is met when the median of the rounds reaches it", () => {
  const bars = barsOf({ calls: [OPEN] });
  const found = (name: string) => bars.find((bar) => bar.name.startsWith(name));
  assertEquals(found("open ÷ one commit each, 64"), {
    name: "open ÷ one commit each, 64 connections",
    bar: "≥ 6",
    measured: "6.10 (5.90 to 7.00)",
    met: true,
  });
  assertEquals(found("open ÷ storing nothing, 64")?.met, false);
});

Deno.test("what was not measured is neither met nor missed", () => {
  assertEquals(barsOf({}).filter(({ met }) => met !== null), []);
});

Deno.test("syncs must be few for every call that writes, counted with 256 connections", () => {
  const fsyncBar = (...counts: [string, number][]) =>
    barsOf({ fsyncs: new Map(counts) }).find(({ name }) => name.startsWith("fsyncs"));
  assertEquals(fsyncBar(["open 256", 0.02], ["finish 256", 0.04])?.met, true);
  assertEquals(fsyncBar(["open 256", 0.02], ["finish 256", 0.06])?.met, false);
  assertEquals(fsyncBar(["open 64", 0.02])?.met, null);
});

Deno.test("memory must stay low and flat", () => {
  const memoryBar = (rssMb: number[]) =>
    barsOf({ memory: { figures: OPEN.figures, rssMb } }).find(({ name }) => name.startsWith("RSS"));
  assertEquals(memoryBar(Array(60).fill(300))?.met, true);
  assertEquals(memoryBar(Array(60).fill(450))?.met, false);
  assertEquals(memoryBar(Array.from({ length: 60 }, (_, i) => 100 + i))?.met, false);
});

Deno.test("both tables show what was measured, and failures of the other sides", () => {
  const text = report({ calls: [{ ...OPEN, baselineFailures: 7 }] });
  assertStringIncludes(text, "0 (others 7)");
  assertStringIncludes(text, "MISSED");
  assertStringIncludes(text, "not measured");
});
