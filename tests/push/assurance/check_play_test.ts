/** Tests results and statistics of checks against their model, in random sequences. */
import { SEED } from "../../support/harness/seed.ts";
import { playCheckSeed } from "../../assurance/sim/check_play.ts";

/** Sequences by instances of the service on one store. */
const SEQUENCES = [[1, 10], [3, 3]] as const;

for (const [instances, count] of SEQUENCES) {
  const name = `checks: results, lists and statistics are the model's, instances: ${instances}`;
  Deno.test(name, async () => {
    for (let seed = SEED; seed < SEED + count; seed++) {
      const failure = await playCheckSeed(seed, instances);
      if (failure !== null) throw new Error(`instances: ${instances}, ${failure}`);
    }
  });
}
