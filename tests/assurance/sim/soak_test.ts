import { assert, assertEquals, assertMatch } from "@std/assert";
import { Recorder } from "../../unit/tools/support.ts";
import { soak } from "./soak.ts";

Deno.test("soak says its seed, counts the cells, and can be gone on with", async () => {
  const io = new Recorder();
  let played = 0;
  assertEquals(await soak(["--seed=7", "--sequences=9"], io, () => played++ === 2), 0);
  assertEquals(io.lines[0], "9 sequences from seed 7");
  assertEquals(io.lines.at(-1), "To go on: deno task soak --seed=9 --sequences=7");
  assert(io.lines.some((line) => /^restart +\d/.test(line)));
  assertEquals(io.failures, []);
});

Deno.test("soak names the cells that it hardly reached", async () => {
  const io = new Recorder();
  assertEquals(await soak(["--seed=7", "--sequences=1"], io), 0);
  assertMatch(io.lines.at(-1) ?? "", /^Cells reached fewer than 1 times: .*agent cap/);
});

Deno.test("soak refuses what is no number", async () => {
  const io = new Recorder();
  assertEquals(await soak(["--sequences=many"], io), 2);
  assertEquals(io.failures, ["--sequences takes a whole number: --help lists the options"]);
});
