/** Another program locks the ledger's file for longer than any call waits. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { stopExact } from "./verify.ts";
import { accessTo, formatCounts, KEY, msSince, number, settingsIn, startLoad } from "./fault.ts";

/** Locks the file as a backup or a shell does. Always `using`. */
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

/** Holds the lock under load; reads still get responses. */
export async function storeLocked(lockMs: number): Promise<string> {
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
      while (performance.now() - lockedMs < lockMs) {
        reads += Number(await readsSpend(process.url));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      // At most the responses in flight when the lock was acquired.
      assert(
        load.acknowledged - acknowledged <= 16,
        "calls were acknowledged while the file was locked",
      );
    }
    const [freedMs, acknowledged] = [performance.now(), load.acknowledged];
    await load.until((load) => load.acknowledged > acknowledged);
    const acceptedIn = msSince(freedMs);
    await load.reached(acknowledged + 100);
    await running.stop();
    assertEquals(Object.keys(load.refusals), ["storage_unavailable"]);
    await load.resend(accessTo(process));
    const verified = await stopExact(process, path, [load]);
    return `${formatCounts(verified)}, ${number(load.refused)} calls refused with 503 and ` +
      `${reads} reads answered in ${number(lockMs)} ms, accepted again after ${acceptedIn}, exact`;
  });
}

/** Starts while the file is locked: reports it in one line, and the next start works. */
export async function startOnLockedStore(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    {
      await using process = await Process.start(settings);
      assertEquals((await process.stop()).code, 0);
    }
    let outcome: string;
    {
      using _ = lock(settings.RUNLEDGER_KV);
      const { code, stderr, ms } = await runToEnd(settings);
      assertEquals([code, stderr.trim().split("\n").length], [4, 1], stderr);
      assertMatch(stderr, /Cannot open .* another program may hold its lock/);
      outcome = `ended with 4 in ${Math.round(ms)} ms and one line`;
    }
    await using process = await Process.start(settings);
    assert(await readsSpend(process.url));
    return `${outcome}, started when it was free`;
  });
}

async function readsSpend(url: string): Promise<boolean> {
  const response = await fetch(`${url}/v1/spend`, { headers: { Authorization: `Bearer ${KEY}` } });
  await response.body?.cancel();
  assert(response.status === 200 || response.status === 503, `${response.status}`);
  return response.status === 200;
}
