/** Tests incidents and their messages against the model of alerts: saved and random sequences. */
import { assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { playAlertSeed } from "../../assurance/sim/alert_play.ts";
import { savedSeeds } from "../../assurance/sim/seeds.ts";

Deno.test("alerts: every sequence that failed before passes", async () => {
  for (const { seed, instances } of savedSeeds("alerts")) {
    assertEquals(await playAlertSeed(seed, instances), null);
  }
});

/** Sequences by instances of the service on one store. */
const SEQUENCES = [[1, 20], [3, 4]] as const;

for (const [instances, count] of SEQUENCES) {
  const name =
    `alerts: open incidents, counts and messages are the model's, instances: ${instances}`;
  Deno.test(name, async () => {
    for (let seed = SEED; seed < SEED + count; seed++) {
      const failure = await playAlertSeed(seed, instances);
      if (failure !== null) throw new Error(`instances: ${instances}, ${failure}`);
    }
  });
}
