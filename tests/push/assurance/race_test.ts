/** Tests that a race of 32 clients is linearizable, including a kill of the process. */
import { assert, assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { inFolder } from "../../support/harness/temp_store.ts";
import { race } from "../../assurance/linearizability/race.ts";

const AGAIN = "deno task assure linearizability --count=3000";

inFolder.test("decisions, section 1: every history of 3,000 operations is explained, across a kill -9", async (folder) => {
  const seed = String(SEED);
  const { done, kills, finding } = await race(folder, { operations: 3_000, seed });
  assertEquals(finding, null, `${AGAIN} --seed=${seed}: ${finding?.why}`);
  assertEquals(kills, 1);
  // Calls in flight at the kill, and calls whose clients gave up.
  assert(done.unknown > 0 && done.operations >= 3_000);
});
