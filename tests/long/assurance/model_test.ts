/** Tests the service against the model of its contract, in random sequences. */
import { assert, assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { Cells } from "../../assurance/sim/cells.ts";
import { playSeed } from "../../assurance/sim/play.ts";
import { ALONE, type Simulation } from "../../assurance/sim/main.ts";
import { savedSeeds } from "../../assurance/sim/seeds.ts";
import { SHARED } from "../../assurance/sim/shared.ts";

const SEQUENCES = 300, SHARED_SEQUENCES = 20;

/** Plays sequences of consecutive seeds; throws at the first that fails. */
async function playAll(count: number, { name, instances }: Simulation): Promise<Cells> {
  const cells = new Cells();
  for (let seed = SEED; seed < SEED + count; seed++) {
    const failure = await playSeed(seed, cells, instances);
    if (failure === null) continue;
    throw new Error(`${failure}\nAgain: deno task assure ${name} --seed=${seed} --count=1`);
  }
  return cells;
}

Deno.test("model: every sequence that failed before passes", async () => {
  for (const { seed, instances } of savedSeeds()) {
    const failure = await playSeed(seed, new Cells(), instances);
    assert(failure === null, failure ?? "");
  }
});

Deno.test("model: each response and the complete store follow the contract, in every state", async () => {
  const cells = await playAll(SEQUENCES, ALONE);
  assertEquals(cells.below(1), [], "cells of the state table that were never reached");
});

Deno.test("model: three instances on one store follow the contract, as one does", async () => {
  await playAll(SHARED_SEQUENCES, SHARED);
});
