/** The planted bugs can be planted: whoever changes those lines changes the patch with them. */
import { assert, assertEquals } from "@std/assert";
import { fits, plantedBugs } from "./planted.ts";

const BUGS_MIN = 12;

Deno.test("planted bugs: there are enough, each fits the project and asks tests that exist", async () => {
  const bugs = await plantedBugs();
  assert(bugs.length >= BUGS_MIN, `only ${bugs.length}`);
  const unfit: string[] = [];
  for (const bug of bugs) {
    if (!await fits(bug)) unfit.push(bug.name);
    for (const file of bug.asked) await Deno.stat(new URL(`../../${file}`, import.meta.url));
  }
  assertEquals(unfit, []);
});
