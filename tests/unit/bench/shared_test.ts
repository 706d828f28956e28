/** Measurements of services over a shared KV: their setups, links, loads and bars. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { readProgress, wrk } from "../../../bench/load.ts";
import { startSide } from "../../../bench/process.ts";
import { barsOf, parseCommits, setupsOf, type Shared } from "../../../bench/shared.ts";
import { UsageError } from "../../../tools/command.ts";
import { isInstalled } from "../../support/harness/output.ts";

Deno.test("shared: setups are selected by name, or a few of them quickly", () => {
  assertEquals(setupsOf({ only: [], quick: false }).length, 7);
  assertEquals(setupsOf({ only: ["3-0ms", "file"], quick: true }), ["3-0ms", "file"]);
  assertEquals(setupsOf({ only: [], quick: true }), ["file", "1-0ms", "3-0ms", "1-90ms"]);
  for (const name of ["near", "0-0ms", "1-ms"]) {
    assertThrows(() => setupsOf({ only: [name], quick: false }), UsageError, `"${name}"`);
  }
});

Deno.test("shared: the commits of several services are added", () => {
  const metrics = (stored: number) =>
    `runledger_commits_total{end="stored"} ${stored}\nrunledger_commits_total{end="lost"} 2\n` +
    `runledger_commits_total{end="failed"} 0\nrunledger_writes_total 7\n`;
  const commits = parseCommits(metrics(1) + metrics(10));
  assertEquals(commits, { stored: 11, lost: 4, failed: 0, writes: 14 });
});

Deno.test("shared: ratios are formed round by round, and each setup has its own bars", () => {
  const one = (requestsPerSecond: number): Shared => ({
    requestsPerSecond,
    ...{ answered: 100, p50Ms: 1, p99Ms: 2, failures: 0, units: 33, rssMb: 200 },
    ...{ loadedSeconds: 1, drainedSeconds: 1, cpuSeconds: 1, kvSeconds: 1 },
    commits: { stored: 996, lost: 4, failed: 0, writes: 2_000 },
    finalMs: [3_000],
  });
  const bars = barsOf({
    "file": [one(100), one(10)],
    "1-0ms": [one(90), one(8)],
    "3-0ms": [one(70)],
    "1-90ms": [one(50)],
  });
  assertEquals(bars.map(({ name, met }) => [name, met]), [
    ["near ÷ file", true],
    ["1-0ms: cost final p99, ms", false],
    ["3-0ms: commits lost, %", true],
    ["3-0ms: cost final p99, ms", false],
    ["1-90ms: cost final p99, ms", true],
  ]);
  assertEquals(bars[0]?.measured, "0.85 (0.80 to 0.90)");
});

Deno.test({
  name: "shared: the calls of complete runs go to all services",
  ignore: !await isInstalled("wrk", "--version"),
  async fn() {
    await using one = await startSide("workless", ":memory:");
    await using two = await startSide("workless", ":memory:");
    const load = { call: "run", connections: 4, seconds: 2 } as const;
    const { answered, failures } = await wrk([one, two], load);
    const counts = await Promise.all([one, two].map(async (side) => {
      const { opened, batches, finished } = (await readProgress([side])).accepted;
      assert(
        Math.min(opened, batches, finished) > 0,
        JSON.stringify({ opened, batches, finished }),
      );
      return opened + batches + finished;
    }));
    assertEquals([counts[0]! + counts[1]! - answered <= 4, failures], [true, 0]);
  },
});
