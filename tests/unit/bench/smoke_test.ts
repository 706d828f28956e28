/** One short real measurement: server, load generator and parsed results. */
import { assert, assertEquals } from "@std/assert";
import { isInstalled } from "../../../bench/process.ts";
import { measure } from "../../../bench/load.ts";
import { startSide } from "../../../bench/sides.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

Deno.test({
  name: "bench: one second of opens on the production ledger",
  ignore: !await isInstalled("wrk", "--version"),
  async fn() {
    await withFolder(async (folder) => {
      await using side = await startSide("ours", `${folder}/smoke.kv`);
      const measured = await measure(side, { call: "open", connections: 8, seconds: 1 });
      assertEquals(measured.failures, 0);
      assert(measured.answered > 100, `only ${measured.answered} were answered`);
      assert(measured.p99Ms >= measured.p50Ms);
    });
  },
});
