/** Tests the service against the model of its contract, in random sequences. */
import { assert, assertEquals } from "@std/assert";
import { Cells } from "./cells.ts";
import { playSeed, replay } from "./play.ts";
import { randomSeed, savedSeeds, saveSeed } from "./seeds.ts";

const SEQUENCES = 300;

Deno.test("model: every sequence that failed before passes", async () => {
  for (const { seed } of savedSeeds()) {
    const failure = await playSeed(seed, new Cells());
    assert(failure === null, failure ?? "");
  }
});

Deno.test("model: each response and the complete store follow the contract, in every state", async () => {
  const cells = new Cells();
  const first = randomSeed(SEQUENCES);
  for (let seed = first; seed < first + SEQUENCES; seed++) {
    const failure = await playSeed(seed, cells);
    if (failure === null) continue;
    saveSeed(seed, failure);
    const again = `deno task assure sim --seed=${seed} --count=1`;
    throw new Error(
      `${failure}\nThe seed is saved in tests/assurance/sim/seeds.json; again: ${again}`,
    );
  }
  assertEquals(cells.below(1), [], "cells of the state table that were never reached");
});

Deno.test("model: one seed reproduces every byte of the responses and of the store", async () => {
  for (const seed of [1, 6, 13]) {
    const [once, again] = [await replay(seed), await replay(seed)];
    assert(once.length > 50, `only ${once.length} lines`);
    assertEquals(again, once);
  }
});

Deno.test("model: it depends on the contract alone, and imports nothing from the service", () => {
  for (const name of ["model", "lenient", "shape", "rules", "values", "reads"]) {
    const text = Deno.readTextFileSync(new URL(`./${name}.ts`, import.meta.url));
    const imports = [...text.matchAll(/from "(.*)"/g)].map(([, from = ""]) => from);
    assertEquals(
      imports.filter((from) => !/^\.\/(shape|lenient|rules|values)\.ts$/.test(from)),
      [],
      name,
    );
  }
});
