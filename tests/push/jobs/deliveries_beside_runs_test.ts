/** Work of one lane does not wait for that of another. */
import { assert, assertEquals } from "@std/assert";
import { WORK_KINDS } from "../../../domain/work/work.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { createWorkStore, workSet } from "../../../kv/work/store.ts";
import { DeliveriesHarness } from "../../support/harness/deliveries.ts";
import { NOON } from "../../support/harness/harness.ts";

DeliveriesHarness.test("deliveries: 100,000 runs whose work is due do not hold up a message", async (h) => {
  const rows = Array.from(
    { length: 100_000 },
    (_, n) => workSet({ at: NOON - n % 1_000, kind: "run", team: h.team.id, name: `run_${n}` }),
  );
  for (let at = 0; at < rows.length; at += 900) {
    await h.store.writer.commit({ sets: rows.slice(at, at + 900) });
  }
  const stop = Promise.withResolvers<void>();
  const hasBegun = Promise.withResolvers<void>();
  let begun = 0;
  const runs = new WorkLoop({
    store: createWorkStore(h.store, Infinity),
    handlers: [{
      kind: "run",
      handle: async () => {
        begun++;
        hasBegun.resolve();
        await stop.promise;
        return [];
      },
    }],
    lanes: ["run"],
    now: () => h.nowMs,
    log: (line) => h.log.push(line),
  });
  runs.start();
  await hasBegun.promise;
  await h.put("ops");
  const job = h.job();
  const id = await h.send("ops", "inc_1");
  await h.pass(job, NOON + 1_000);
  assertEquals(h.sent.map((sent) => sent.id), [id]);
  assert(begun <= WORK_KINDS.run.slots.all, `${begun} at once`);
  stop.resolve();
  await runs.stop();
});
