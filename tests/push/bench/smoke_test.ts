/** Short real measurements: server, load generator and parsed results. */
import { assert, assertEquals } from "@std/assert";
import { isInstalled } from "../../support/harness/commands.ts";
import { measure } from "../../../bench/load.ts";
import { startService } from "../../../bench/process.ts";
import { countWrites } from "../../../bench/writes.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const ignore = !isInstalled("wrk");

Deno.test({
  name: "bench: one second of complete runs until their backlog is empty",
  ignore,
  async fn() {
    await withFolder(async (folder) => {
      await using side = await startService(`${folder}/smoke.kv`);
      const measured = await measure([side], { call: "run", connections: 8, seconds: 1 });
      assertEquals(measured.failures, 0);
      assert(measured.units > 0);
      assert(measured.loadedSeconds <= measured.drainedSeconds);
      assert(measured.p99Ms >= measured.p50Ms);
    });
  },
});

Deno.test({
  name: "bench: the writes of one second of heartbeats",
  ignore,
  async fn() {
    await withFolder(async (folder) => {
      const load = { call: "heartbeat", connections: 8, seconds: 1 } as const;
      const writes = await countWrites(`${folder}/writes.kv`, load);
      // Each heartbeat writes its own row at least.
      assert(writes.mutations >= 1, `${writes.mutations} mutations`);
      assert(writes.bytes > 100, `${writes.bytes} bytes`);
    });
  },
});
