import { assertEquals, assertThrows } from "@std/assert";
import { BENCHES, parseBench } from "../../../bench/main.ts";
import type { BenchOptions } from "../../../bench/report.ts";
import { partsOf, planOf } from "../../../bench/ingest.ts";
import { UsageError } from "../../../tools/command.ts";
import { Recorder } from "../../support/harness/tools.ts";

function parse(...args: string[]) {
  return parseBench(args, new Recorder());
}

function optionsOf(...args: string[]): BenchOptions {
  const parsed = parse(...args);
  if (parsed === null) throw new Error("only its help was printed");
  return { folder: "/tmp", ...parsed.options };
}

Deno.test("by default every part of ingest except growth is measured in three rounds", () => {
  assertEquals(parse()?.name, "ingest");
  const options = optionsOf();
  const { rounds, connections } = planOf(options);
  assertEquals([rounds, connections], [3, [64, 256]]);
  const parts = partsOf(options);
  assertEquals(parts.includes("growth"), false);
  assertEquals(partsOf(optionsOf("--only=growth")), ["growth"]);
});

Deno.test("--quick is one round of short measurements", () => {
  const { rounds, connections, seconds } = planOf(optionsOf("--quick"));
  assertEquals([rounds, connections, seconds], [1, [64], 1]);
});

Deno.test("--only selects parts, also in a quick run", () => {
  const options = optionsOf("--only=pipeline,calls", "--quick");
  assertEquals([partsOf(options), planOf(options).rounds], [["pipeline", "calls"], 1]);
});

Deno.test("the first argument names the benchmark, and the remaining arguments belong to it", () => {
  assertEquals(parse("cpu", "../other", "--rounds=4")?.name, "cpu");
  const { rest, rounds, runs } = optionsOf("cpu", "../other", "--rounds=4", "--runs=7");
  assertEquals([rest, rounds, runs], [["../other"], 4, 7]);
});

Deno.test("an unknown argument is reported with a pointer to the usage", () => {
  for (const [arg = "", says] of [["--fast", "--fast"], ["fast", '"fast"'], ["--rounds=0", "0"]]) {
    assertThrows(() => parse(arg), UsageError, says);
  }
  assertThrows(() => partsOf(optionsOf("--only=sums")), UsageError, '"sums"');
});

Deno.test("--help lists every benchmark", () => {
  const io = new Recorder();
  assertEquals(parseBench(["--help"], io), null);
  assertEquals(io.lines[0]?.startsWith("deno task bench"), true);
  for (const name of Object.keys(BENCHES)) {
    assertEquals(io.lines.some((line) => line.trim().startsWith(name)), true, name);
  }
});
