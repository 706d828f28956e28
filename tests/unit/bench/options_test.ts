import { assertEquals, assertThrows } from "@std/assert";
import { BENCHES, parseBench } from "../../../bench/main.ts";
import type { BenchOptions } from "../../../bench/report.ts";
import { partsOf } from "../../../bench/sustained.ts";
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

Deno.test("by default every part is measured, and in a quick run rates and writes", () => {
  assertEquals(parse()?.name, "sustained");
  assertEquals(partsOf(optionsOf()), ["rates", "writes", "grouping"]);
  assertEquals(partsOf(optionsOf("--quick")), ["rates", "writes"]);
});

Deno.test("--only selects parts, also in a quick run", () => {
  const options = optionsOf("--only=grouping,rates", "--quick");
  assertEquals(partsOf(options), ["grouping", "rates"]);
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
