/** All mutants can be planted: whoever changes those lines changes the patch with them. */
import { assert, assertEquals } from "@std/assert";
import { allMutants, fits } from "./mutants.ts";

const MUTANTS_MIN = 12;

Deno.test("mutants: there are enough, each fits the project and asks tests that exist", async () => {
  const mutants = await allMutants();
  assert(mutants.length >= MUTANTS_MIN, `only ${mutants.length}`);
  const unfit: string[] = [];
  for (const mutant of mutants) {
    if (!await fits(mutant)) unfit.push(mutant.name);
    for (const file of mutant.asked) await Deno.stat(new URL(`../../../${file}`, import.meta.url));
  }
  assertEquals(unfit, []);
});
