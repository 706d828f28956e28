/** Decisions about alerts in 2,000 random orders of processing, on rows in maps. */
import { playDecisions } from "../../assurance/sim/alert_decisions.ts";
import { SEED } from "../../support/harness/seed.ts";

Deno.test("alerts: in any order of processing, the order of arrival decides", () => {
  for (let seed = SEED; seed < SEED + 2_000; seed++) playDecisions(seed);
});
