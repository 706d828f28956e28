/** Random days of a judge over a store: deaths, lost answers, and a server with its own book. */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { Random } from "../../../tools/random.ts";
import { judged } from "../../support/fakes/model_server.ts";
import { answer } from "../../support/fakes/receiver.ts";
import { JudgeHarness } from "../../support/harness/judges.ts";
import { SEED } from "../../support/harness/seed.ts";

const DAILY_USD = 0.005;

Deno.test("judges: over random days with deaths and lost answers no bill passes its cap", async () => {
  const random = new Random(`judges ${SEED}`);
  await using j = await JudgeHarness.open({ daily_usd: DAILY_USD, max_output_tokens: 16 }, {}, 50);
  const bills = new Map<string, number>();
  for (let day = 0; day < 12; day++) {
    for (let run = 0; run < 4; run++) {
      j.server.behavior = async (connection, request) => {
        const prompt = random.int(0, 1_500);
        const isBilled = random.chance(0.8);
        const on = new Date(j.h.nowMs).toISOString().slice(0, 10);
        // Input tokens cost 1e-6 dollars.
        if (isBilled) bills.set(on, (bills.get(on) ?? 0) + prompt);
        j.dies = random.chance(0.2);
        if (!isBilled) return await answer(503)(connection, request);
        if (random.chance(0.2)) return;
        await judged(5, random.chance(0.2) ? null : { prompt, completion: 0 })(connection, request);
      };
      await j.run();
      j.h.nowMs += random.int(0, 1_200_000);
      await j.work();
    }
    j.h.nowMs += 86_400_000 - j.h.nowMs % 86_400_000 + random.int(0, 3_600_000);
  }
  assert(bills.size >= 10, `${bills.size}`);
  for (const [day, tokens] of bills) assert(tokens * 1e-6 <= DAILY_USD, `${day}: ${tokens}`);
  // All calls end within the tries of a job.
  for (let look = 0; look < 20; look++) {
    j.h.nowMs += 3_600_000;
    await j.work();
  }
  assertEquals((await j.read("/v1/judges/helpful")).held_usd, 0);
  const { runs } = await j.read("/v1/runs?agent=judge%3Ahelpful&limit=100");
  const billed = bills.values().reduce((sum, tokens) => sum + tokens, 0) * 1e-6;
  const told = runs.reduce((sum: number, run: { cost_usd: number }) => sum + run.cost_usd, 0);
  assert(told >= billed - 1e-9, `${told} of ${billed}`);
  assertEquals((await verifyStore(j.h.store)).differences, []);
});
