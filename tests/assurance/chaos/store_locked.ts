/** Another program locks the ledger's file for longer than any call waits. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { interrupted, number, settingsIn, statusOf } from "./fault.ts";

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
    using locks = new DisposableStack();
    let reads = 0;
    const result = await interrupted(settings, {
      begin: () => Promise.resolve(void locks.use(lock(settings.RUNLEDGER_KV))),
      async meanwhile(load, { url }) {
        const [lockedMs, acknowledged] = [performance.now(), load.acknowledged];
        while (performance.now() - lockedMs < lockMs) {
          reads += Number(await readsSpend(url));
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        // At most the responses in flight when the lock was acquired.
        const inFlight = load.acknowledged - acknowledged;
        assert(inFlight <= 16, "calls were acknowledged while the file was locked");
      },
      end: () => Promise.resolve(locks.dispose()),
      check: ({ refusals }) => assertEquals(Object.keys(refusals), ["storage_unavailable"]),
      refused: 1,
    });
    return `${result}, ${reads} reads answered in ${number(lockMs)} ms`;
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
  const status = await statusOf(`${url}/v1/spend`);
  assert(status === 200 || status === 503, `${status}`);
  return status === 200;
}
