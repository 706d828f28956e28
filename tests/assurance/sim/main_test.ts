import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { UsageError } from "../../../tools/command.ts";
import { Recorder } from "../../support/harness/tools.ts";
import { optionsOf } from "../assurance.ts";
import { HARNESSES } from "../harnesses.ts";
import { simulate } from "./main.ts";

function play(io: Recorder, args: readonly string[], stopped = () => false): Promise<boolean> {
  return simulate(optionsOf(HARNESSES.sim, args), io, stopped);
}

Deno.test("sim prints its seed, counts the cells, and can be continued", async () => {
  const io = new Recorder();
  let played = 0;
  assertEquals(await play(io, ["--seed=7", "--count=9"], () => played++ === 2), true);
  assertEquals(io.lines[0], "9 sequences from seed 7");
  assertEquals(io.lines.at(-1), "To continue: deno task assure sim --seed=9 --count=7");
  assert(io.lines.some((line) => /^restart +\d/.test(line)));
  assertEquals(io.failures, []);
});

Deno.test("sim names the cells that it rarely reached", async () => {
  const io = new Recorder();
  assertEquals(await play(io, ["--seed=7", "--count=1"]), true);
  assertMatch(io.lines.at(-1) ?? "", /^Cells reached fewer than 1 times: .*agent cap/);
});

Deno.test("sim refuses values that are not numbers", async () => {
  const io = new Recorder();
  const refused = "--count takes an integer above 0: got many";
  assertThrows(() => play(io, ["--count=many"]), UsageError, refused);
  await assertRejects(() => play(io, ["--seed=x"]), UsageError, "--seed takes an integer");
});
