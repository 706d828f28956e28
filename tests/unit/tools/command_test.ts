import { assertEquals, assertRejects } from "@std/assert";
import {
  createProgress,
  progressLine,
  runTool,
  ToolFailure,
  UsageError,
} from "../../../tools/command.ts";
import { VERSION } from "../../../domain/core/version.ts";
import { verify } from "../../../tools/verify.ts";
import { helpFor } from "../../../app/config.ts";
import { Recorder } from "../../support/harness/tools.ts";

function stepTo(recorder: Recorder, total: number): void {
  using progress = createProgress(recorder.screen, "runs", total);
  for (let i = 0; i < total; i++) progress.step();
}

Deno.test("a terminal shows one line, redrawn at each percent and ended once", () => {
  const recorder = new Recorder(true);
  stepTo(recorder, 500);
  assertEquals(recorder.drawn.length, 101);
  assertEquals(recorder.drawn.pop(), "\n");
  assertEquals(recorder.drawn.every((text) => /^\r[^\n]+$/.test(text)), true);
  assertEquals(new Set(recorder.drawn.map((text) => text.length)).size, 1);
});

Deno.test("other outputs get a line per tenth, including the last one", () => {
  const recorder = new Recorder(false);
  stepTo(recorder, 200);
  assertEquals(recorder.drawn.length, 10);
  assertEquals(recorder.drawn.at(-1), `${progressLine("runs", 200, 200)}\n`);
});

Deno.test("fewer steps than tenths give one line per step", () => {
  const recorder = new Recorder(false);
  stepTo(recorder, 3);
  assertEquals(recorder.drawn.map((text) => /(\d+) %/.exec(text)?.[1]), ["33", "66", "100"]);
});

Deno.test("a count without a total is redrawn each hundred; other outputs get a line per ten thousand", () => {
  const drawn = (isTerminal: boolean, ...counts: number[]) => {
    const recorder = new Recorder(isTerminal);
    {
      using counter = createProgress(recorder.screen, "runs");
      counts.forEach((count) => counter.step(count));
    }
    return recorder.drawn;
  };
  assertEquals(drawn(true, 99), []);
  assertEquals(drawn(true, 99, 40, 40, 40), ["\r139 runs", "\r219 runs", "\n"]);
  assertEquals(drawn(false, 9_999), []);
  assertEquals(drawn(false, 9_999, 41, 40, 10_000), ["10040 runs\n", "20080 runs\n"]);
});

Deno.test("a failure is one line and its exit code; a bug is rethrown", async () => {
  const recorder = new Recorder();
  const failing = (error: Error) => () => Promise.reject(error);
  assertEquals(await runTool(recorder, failing(new ToolFailure("no server"))), 1);
  assertEquals(await runTool(recorder, failing(new UsageError("no such option"))), 2);
  assertEquals(recorder.failures, ["no server", "no such option"]);
  await assertRejects(() => runTool(recorder, failing(new RangeError("bug"))), RangeError, "bug");
});

Deno.test("--version: the service and the tools name the version of deno.json (R22)", async () => {
  const { version } = JSON.parse(await Deno.readTextFile("deno.json"));
  assertEquals(VERSION, version);
  const recorder = new Recorder();
  assertEquals(await verify(["--version"], recorder), 0);
  assertEquals(recorder.lines, [`Runledger ${version}`]);
  assertEquals(helpFor(["--version"]), recorder.lines);
});
