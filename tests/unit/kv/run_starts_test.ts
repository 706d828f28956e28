/** Starts of runs from the index. */
import { assertEquals } from "@std/assert";
import { createRunListStore } from "../../../kv/run_list/run_list.ts";
import { aHeartbeat, aRun, at } from "../../support/builders/requests.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";

const HOUR_MS = 3_600_000;

Harness.test("starts are those of the runs in a range, by kind of order, with their costs", async (h) => {
  const send = (n: number, hours: number, fields = {}) =>
    h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(-hours * HOUR_MS), ...fields }));
  await send(1, 3);
  await send(2, 2, { status: "fail", cost_usd: 0.25 });
  await send(3, 1, { status: "timeout", cost_usd: 3 });
  await h.post("/v1/runs", aRun(4, { started_at: at(-30 * 60_000) }));
  const { key } = await h.addTeam("business");
  await h.post("/v1/heartbeats", aHeartbeat(5), { key });
  await h.worker.idle();
  const list = createRunListStore(h.store);
  const read = async (
    of: Parameters<typeof list.starts>[1],
    fromMs = 0,
    toMs = NOON + 1,
    max = 10,
  ) => {
    const starts = await list.starts(h.team, of, fromMs, toMs, max);
    return starts?.map(({ at, cost }) => [(NOON - at) / HOUR_MS, cost])
      .sort(([a], [b]) => Number(b) - Number(a)) ?? null;
  };
  assertEquals(await read("runs"), [[3, 0n], [2, 0n], [1, 0n], [0.5, 0n]]);
  assertEquals(await read("runs", NOON - 2 * HOUR_MS, NOON - HOUR_MS), [[2, 0n]]);
  assertEquals(await read("failures"), [[2, 0n], [1, 0n]]);
  assertEquals(await read("running"), [[0.5, 0n]]);
  assertEquals(await read("costs"), [[2, 250_000_000_000n], [1, 3_000_000_000_000n]]);
  assertEquals(await read("runs", 0, NOON + 1, 4), await read("runs"));
  assertEquals(await read("runs", 0, NOON + 1, 3), null);
});
