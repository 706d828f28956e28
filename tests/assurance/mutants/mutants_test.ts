/** Tests that all mutants apply: a change of their lines must include a change of the patch. */
import { assert, assertEquals } from "@std/assert";
import { allMutants, fits } from "./mutants.ts";

const MUTANTS_MIN = 30;

Deno.test("mutants: there are enough, each applies to the project and names existing tests", async () => {
  const mutants = await allMutants();
  assert(mutants.length >= MUTANTS_MIN, `only ${mutants.length}`);
  const unfit: string[] = [];
  for (const mutant of mutants) {
    if (!await fits(mutant)) unfit.push(mutant.name);
    for (const file of mutant.tests) await Deno.stat(new URL(`../../../${file}`, import.meta.url));
  }
  assertEquals(unfit, []);
});
