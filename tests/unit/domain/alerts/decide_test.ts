/** Decisions about alerts, on rows in maps: against the model, in many orders of processing. */
import { playDecisions } from "../../../assurance/sim/alert_decisions.ts";
import { SEED } from "../../../support/harness/seed.ts";

Deno.test("alerts: what is decided follows from the order of arrival alone", () => {
  for (let seed = SEED; seed < SEED + 200; seed++) playDecisions(seed);
});
