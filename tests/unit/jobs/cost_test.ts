/** The cost of a run that fails: retries, and giving up without delaying others. */
import { assert, assertEquals } from "@std/assert";
import { RETRIES } from "../../../domain/work/work.ts";
import { failedWork, revive } from "../../../kv/runs/run_work.ts";
import { aCall, finish, open, run, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { breaking, WorkerHarness } from "../../support/harness/worker_harness.ts";

function revived({ store, nowMs }: WorkerHarness, n: number): Promise<boolean> {
  return revive(store, { team: TEAM.id, run: run(n) }, nowMs);
}

Deno.test("cost: a run that cannot be aggregated does not delay the others of its batch", async () => {
  await using shop = await WorkerHarness.open({ wrap: breaking(run(3), () => true) });
  await Promise.all([1, 2, 3, 4, 5].map((n) => finish(shop.runs, n)));
  assertEquals((await shop.temp.keysBelow(["dirty"])).length < 5, true, "they share a row");
  shop.start();
  await shop.idle();
  for (const n of [1, 2, 4, 5]) {
    assertEquals(await shop.stagesOf(run(n)), ["cost done 1", ...shop.skipped]);
  }
  assertEquals((await shop.stagesOf(run(3)))[0], "cost retrying 1");
  assertEquals(await shop.temp.keysBelow(["dirty"]), []);
  // The log has the team and the failure, but no run id.
  assert(shop.log.some((line) => line.includes(TEAM.id) && line.includes("this run is broken")));
  assert(!shop.log.join().includes("run_"), shop.log.join());
});

Deno.test("cost: it is retried with doubling backoff, given up after 8 attempts, and revived", async () => {
  let broken = true;
  await using shop = await WorkerHarness.open({ wrap: breaking(run(1), () => broken) });
  await open(shop.runs, 1);
  await finish(shop.runs, 1);
  shop.start();
  await shop.idle();
  // Its opening and close are separate marks and were attempted immediately.
  const [first = ""] = await shop.stagesOf(run(1));
  let attempts = Number(first.split(" ").at(-1));
  assert(attempts >= 1 && attempts <= 2, first);
  for (; attempts < RETRIES.run.triesMax; attempts++) {
    const pauseMs = RETRIES.run.firstMs * 2 ** (attempts - 1);
    await shop.after(pauseMs - 1);
    assertEquals((await shop.stagesOf(run(1)))[0], `cost retrying ${attempts}`, "too early");
    await shop.after(1);
  }
  assertEquals((await shop.stagesOf(run(1)))[0], "cost dead 8");
  const dead = await Array.fromAsync(failedWork(shop.store));
  assertEquals(dead.map(({ team, name, kind, error }) => [team, name, kind, error]), [
    [TEAM.id, run(1), "cost", "RangeError: this run is broken"],
  ]);
  await shop.after(86_400_000);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost dead 8", "a dead stage was tried");

  broken = false;
  assertEquals(await revived(shop, 2), false);
  assertEquals(await revived(shop, 1), true);
  await shop.idle();
  assertEquals(await shop.stagesOf(run(1)), ["cost done 1", ...shop.skipped]);
  assertEquals(await Array.fromAsync(failedWork(shop.store)), []);
  assertEquals(await revived(shop, 1), false);
  assertEquals(await shop.sumsAddUp(), 1);
  assertEquals(await shop.temp.keysBelow(["work", "run"]), []);
  assertEquals(await shop.temp.keysBelow(["failed"]), []);
});

Deno.test("cost: new data for a failing run does not shorten its backoff", async () => {
  await using shop = await WorkerHarness.open({ wrap: breaking(run(1), () => true) });
  await finish(shop.runs, 1);
  shop.start();
  await shop.idle();
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 1");
  shop.nowMs += RETRIES.run.firstMs / 2;
  await shop.runs.append(TEAM, run(1), [aCall(1)], NOON);
  await shop.idle();
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 2");
  // When the first backoff would have ended, the second has not.
  await shop.after(RETRIES.run.firstMs);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 2");
  await shop.after(RETRIES.run.firstMs);
  assertEquals((await shop.stagesOf(run(1)))[0], "cost retrying 3");
});

Deno.test("cost: a failure that is noted after another worker's success goes", async () => {
  await using shop = await WorkerHarness.open();
  await finish(shop.runs, 1);
  shop.start();
  await shop.idle();
  await shop.pipeline.projectFailed({ team: TEAM.id, run: run(1) }, new Error("too late"));
  await shop.after(RETRIES.run.firstMs);
  assertEquals(await shop.stagesOf(run(1)), ["cost done 1", ...shop.skipped]);
  assertEquals(await shop.temp.keysBelow(["failed"]), []);
  assertEquals(await shop.temp.keysBelow(["work", "run"]), []);
});
