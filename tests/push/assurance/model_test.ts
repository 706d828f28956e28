/** Plays sequences that failed once, and random ones over three instances, against the model. */
import { assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { SHARED } from "../../assurance/sim/play.ts";
import { playSeed } from "../../assurance/sim/run_play.ts";
import { savedSeeds } from "../../assurance/sim/seeds.ts";

const SHARED_SEQUENCES = 10;

Deno.test("model: every sequence that failed before passes", async () => {
  for (const { seed, instances } of savedSeeds()) {
    assertEquals(await playSeed(seed, instances), null);
  }
});

Deno.test("model: three instances on one store follow the contract, as one does", async () => {
  for (let seed = SEED; seed < SEED + SHARED_SEQUENCES; seed++) {
    const again = `deno task assure sim-shared --seed=${seed} --count=1`;
    assertEquals(await playSeed(seed, SHARED), null, again);
  }
});
