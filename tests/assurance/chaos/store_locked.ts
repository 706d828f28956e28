/** Something else holds the ledger's file, longer than anybody waits. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { stopExact } from "./verify.ts";
import { accessTo, KEY, msSince, number, settingsIn, startLoad, toldOf } from "./fault.ts";

/** A lock as a backup or a shell takes it. Always `using`. */
function lock(path: string): Disposable {
  const database = new DatabaseSync(path, { timeout: 10_000 });
  database.exec("BEGIN EXCLUSIVE");
  return {
    [Symbol.dispose]() {
      database.exec("ROLLBACK");
      database.close();
    },
  };
}

/** Holds the file for a while under load; reads are answered meanwhile. */
export async function storeLocked(heldMs: number): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const path = settings.RUNLEDGER_KV;
    await using process = await Process.start(settings);
    const load = new Load(0);
    await using running = startLoad(load, process);
    await load.reached(300);
    let reads = 0;
    {
      using _ = lock(path);
      const [lockedMs, acknowledged] = [performance.now(), load.acknowledged];
      while (performance.now() - lockedMs < heldMs) {
        reads += Number(await readsSpend(process.url));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      // At most what was on its way to the clients when the lock was taken.
      assert(load.acknowledged - acknowledged <= 16, "calls were taken while the file was locked");
    }
    const [freedMs, acknowledged] = [performance.now(), load.acknowledged];
    await load.until((load) => load.acknowledged > acknowledged);
    const acceptedIn = msSince(freedMs);
    await load.reached(acknowledged + 100);
    await running.stop();
    assertEquals(Object.keys(load.refusals), ["storage_unavailable"]);
    await load.resend(accessTo(process));
    const verified = await stopExact(process, path, [load]);
    return `${toldOf(verified)}, ${number(load.refused)} calls refused with 503 and ` +
      `${reads} reads answered in ${number(heldMs)} ms, taken again after ${acceptedIn}, exact`;
  });
}

/** Starts while the file is held: told in one line, and nothing is in the way of a start afterwards. */
export async function startOnLockedStore(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    {
      await using process = await Process.start(settings);
      assertEquals((await process.stop()).code, 0);
    }
    let told: string;
    {
      using _ = lock(settings.RUNLEDGER_KV);
      const { code, stderr, ms } = await runToEnd(settings);
      assertEquals([code, stderr.trim().split("\n").length], [3, 1], stderr);
      assertMatch(stderr, /Cannot open .* another program may hold its lock/);
      told = `ended with 3 in ${Math.round(ms)} ms and one line`;
    }
    await using process = await Process.start(settings);
    assert(await readsSpend(process.url));
    return `${told}, started when it was free`;
  });
}

async function readsSpend(url: string): Promise<boolean> {
  const response = await fetch(`${url}/v1/spend`, { headers: { Authorization: `Bearer ${KEY}` } });
  await response.body?.cancel();
  assert(response.status === 200 || response.status === 503, `${response.status}`);
  return response.status === 200;
}
