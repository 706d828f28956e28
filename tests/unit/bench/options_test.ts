import { assertEquals, assertStringIncludes } from "@std/assert";
import { runBench } from "../../../bench/main.ts";
import type { BenchOptions } from "../../../bench/report.ts";
import { Recorder } from "../../support/harness/tools.ts";

/** Parses a command line without measuring. */
async function parse(...args: string[]) {
  const io = new Recorder();
  const measured: (Omit<BenchOptions, "folder"> & { name: string })[] = [];
  const code = await runBench(args, io, (name, options) => {
    measured.push({ name, ...options });
    return Promise.resolve(0);
  });
  return { io, code, measured: measured[0] };
}

Deno.test("without a name, the sustained rate is measured", async () => {
  assertEquals((await parse()).measured?.name, "sustained");
});

Deno.test("the first argument names the benchmark, and the second another checkout", async () => {
  const { measured } = await parse("cpu", "../other", "--rounds=4", "--runs=7");
  assertEquals(measured, {
    ...{ name: "cpu", checkout: "../other", rounds: 4, runs: 7 },
    ...{ seconds: undefined, connections: undefined, only: [], quick: false },
  });
});

Deno.test("an unknown argument is reported with a pointer to the usage", async () => {
  for (
    const [arg = "", says = ""] of [["--fast", "--fast"], ["fast", '"fast"'], ["--rounds=0", "0"]]
  ) {
    const { io, code, measured } = await parse(arg);
    assertEquals([code, measured], [2, undefined]);
    assertStringIncludes(io.failures.join(), says);
  }
});

Deno.test("--help lists the benchmarks", async () => {
  const { io, code } = await parse("--help");
  assertEquals([code, io.lines[0]?.startsWith("deno task bench")], [0, true]);
  const named = io.lines.flatMap((line) => /^ {2}([a-z]+) /.exec(line)?.[1] ?? []);
  assertEquals(named, ["sustained", "writes", "shared", "volume", "work", "cpu"]);
});
