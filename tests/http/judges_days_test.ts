/** Random days of a judge: a short form of `deno task assure judges`. */
import { assert } from "@std/assert";
import { playDays } from "../assurance/judges/days.ts";
import { SEED } from "../support/harness/seed.ts";

Deno.test("judges: over random days with deaths and lost answers no bill passes its cap", async () => {
  const { calls, deaths, lost, judged } = await playDays(`judges ${SEED}`, 20);
  assert(calls > 20 && deaths > 0 && lost > 0 && judged > 10, JSON.stringify({ calls, judged }));
});
