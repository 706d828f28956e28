/** Tests the service against the model of its contract, in random sequences that reach every state. */
import { assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { Cells } from "../../assurance/sim/cells.ts";
import { playSeed } from "../../assurance/sim/play.ts";

const SEQUENCES = 300;

Deno.test("model: each response and the complete store follow the contract, in every state", async () => {
  const cells = new Cells();
  for (let seed = SEED; seed < SEED + SEQUENCES; seed++) {
    const again = `deno task assure sim --seed=${seed} --count=1`;
    assertEquals(await playSeed(seed, cells), null, again);
  }
  assertEquals(cells.below(1), [], "cells of the state table that were never reached");
});
