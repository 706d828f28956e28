import { assertEquals, assertStringIncludes } from "@std/assert";
import { atLeast, atMost, barTable } from "../../../bench/report.ts";
import type { Measured } from "../../../bench/load.ts";
import { rateBars, rowsOf } from "../../../bench/sustained.ts";

function rate(units: number): Measured {
  return {
    ...{ answered: 3 * units, requestsPerSecond: 6 * units, p50Ms: 2.5, p99Ms: 9, failures: 1 },
    ...{ units, loadedSeconds: 0.5, drainedSeconds: 1, cpuSeconds: 2, rssMb: 200 },
  };
}

Deno.test("a target is met when the median of the rounds reaches it", () => {
  assertEquals(atLeast("open: grouped ÷ one commit each", 6, [5.9, 6.1, 7]), {
    name: "open: grouped ÷ one commit each",
    bar: "≥ 6",
    measured: "6.10 (5.90 to 7.00)",
    met: true,
  });
  assertEquals(atLeast("heartbeat: front door ÷ before", 0.45, [0.4, 0.3]).met, false);
});

Deno.test("a maximum is met up to its limit", () => {
  assertEquals([9, 9.1].map((value) => atMost("mutations", 9, value).met), [true, false]);
  assertEquals(atMost("bytes", 3_500, 3_499.7).measured, "3,500");
});

Deno.test("an unmeasured target is neither met nor missed", () => {
  const bars = [atLeast("open", 6, []), atLeast("close", 6, [])];
  assertEquals(bars.filter(({ met }) => met !== null), []);
});

Deno.test("the sustained rate is compared round by round with the other servers", () => {
  const results = {
    complete: [rate(800), rate(900)],
    "front door": [rate(1_000), rate(1_000)],
    before: [rate(400), rate(300)],
  };
  const barsOf = (kind: "run" | "heartbeat" | "ping", servers: object) =>
    rateBars(kind, { ...servers }).map(({ name, bar, measured, met }) =>
      `${name} ${bar} ${measured} ${met}`
    );
  assertEquals(barsOf("heartbeat", results), [
    "heartbeat: complete ÷ front door ≥ 0.7 0.85 (0.80 to 0.90) true",
    "heartbeat: complete ÷ before ≥ 2.5 2.50 (2.00 to 3.00) true",
  ]);
  const { before: _, ...alone } = results;
  assertEquals(barsOf("run", alone), [
    "run: complete ÷ front door ≥ 0.9 0.85 (0.80 to 0.90) false",
  ]);
  assertEquals(barsOf("ping", results), []);
});

Deno.test("each server has a row of medians", () => {
  const results = { complete: [rate(800), rate(900)], "front door": [rate(1_000)] };
  const rows = rowsOf("run", results);
  assertEquals(rows.map((row) => row.join(" ")), [
    "run complete 850 1,700 425 2.5 9.0 200 2",
    "run front door 1,000 2,000 500 2.5 9.0 200 1",
  ]);
});

Deno.test("the table of bars shows misses and what was not measured", () => {
  const text = barTable([atLeast("missed", 6, [5]), atLeast("absent", 6, [])]);
  assertStringIncludes(text, "MISSED");
});
