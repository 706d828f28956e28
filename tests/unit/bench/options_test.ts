import { assertEquals, assertThrows } from "@std/assert";
import { parseBench } from "../../../bench/main.ts";
import type { BenchOptions } from "../../../bench/report.ts";
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

Deno.test("without a name, the sustained rate is measured", () => {
  assertEquals(parse()?.name, "sustained");
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
});

Deno.test("--help lists the benchmarks", () => {
  const io = new Recorder();
  assertEquals(parseBench(["--help"], io), null);
  assertEquals(io.lines[0]?.startsWith("deno task bench"), true);
  const named = io.lines.flatMap((line) => /^ {2}([a-z]+) /.exec(line)?.[1] ?? []);
  assertEquals(named, ["sustained", "writes", "shared", "volume", "monitors", "cpu"]);
});
