/** Runs the drills of `docs/BACKUP.md`: a backup under load, a kill, and a restore. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { KvProcess } from "../../support/fakes/denokv.ts";
import { KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { Load } from "../../support/harness/load.ts";
import { Process } from "../../support/harness/process.ts";
import type { Call } from "../../support/builders/scripts.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { runTask } from "../../support/harness/tools.ts";
import { assertExact, noPendingWork, stopExact, verify } from "./verify.ts";
import { accessTo, formatCounts, number, settingsIn, startLoad } from "./fault.ts";

/** Calls before the backup, and after it. */
const CALLS = { before: 300, after: 1_000 } as const;

/** Backs up a service under load, kills it, restores, and restarts it. */
export async function restoreDrill(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const path = settings.RUNLEDGER_KV;
    const backup = `${folder}/backup.kv`;
    const load = new Load(0);
    const process = await Process.start(settings);
    await using _ = process;
    await using running = startLoad(load, process);
    await load.reached(CALLS.before);

    const { during, restored } = await backUp(load, path, backup, `process ${process.pid}`);
    await process.stop("SIGKILL");
    await running.stop();
    assert((await Deno.stat(`${path}-wal`)).size > 0, "no log of commits was left");

    const output = await runOk("restore", backup, `--kv=${path}`);
    assertStringIncludes(output, `moved the previous file to ${path}.before-restore-`);
    const before = restored();
    const counts = await verify(path, [before]);
    await using again = await Process.start(settings);
    await stopExact(again, path, [before]);
    return `${formatCounts(counts)} in the backup, ${
      number(during)
    } acknowledged during the backup, ` +
      "restored despite the log of a killed process, exact";
  });
}

/**
 * Backs up a denokv under load, kills it, restores, and restarts it.
 *
 * @param denokv its command
 */
export async function denokvRestoreDrill(denokv: string): Promise<string> {
  return await withFolder(async (folder) => {
    const path = `${folder}/denokv.sqlite`;
    const backup = `${folder}/backup.kv`;
    const load = new Load(0);
    await using kv = await KvProcess.start(folder, denokv);
    const start = () =>
      Process.start(settingsIn(folder, { RUNLEDGER_KV: kv.url, RUNLEDGER_KV_TOKEN: KV_TOKEN }));
    await using process = await start();
    await using running = startLoad(load, process);
    await load.reached(CALLS.before);

    const { during, restored } = await backUp(load, path, backup, "another program");
    await kv.kill();
    await process.stop("SIGKILL");
    await running.stop();
    assert((await Deno.stat(`${path}-wal`)).size > 0, "no log of commits was left");

    await runOk("restore", backup, `--kv=${path}`);
    const before = restored();
    await kv.start();
    {
      await using again = await start();
      // The lease in the backup is that of a killed process: the work begins when it ends.
      await noPendingWork(path);
      assert(await before.untilFinal(accessTo(again)) > 0, "the backup has no closed run");
      assertEquals((await again.stop()).code, 0);
    }
    await kv.kill();
    const counts = await verify(path, [before]);
    await assertExact(path);
    return `${formatCounts(counts)} in the backup, ${
      number(during)
    } acknowledged during the backup, ` +
      "restored despite the log of a killed denokv, exact";
  });
}

/**
 * Backs up a store under load, and checks that a restore is refused while it is in use. Returns the
 * number of calls that were acknowledged during the backup, and what returns the load as the backup
 * has it: every write acknowledged before, none attempted after.
 */
async function backUp(load: Load, path: string, backup: string, user: string) {
  const callsOf = (wanted: (call: Call) => boolean) =>
    new Set(load.scripts.flatMap(({ calls }) => calls).filter(wanted));
  const acknowledged = callsOf(({ state }) => state === "acknowledged");
  await runOk("backup", backup, `--kv=${path}`);
  const attempted = callsOf(({ state }) => state !== "unsent");
  const during = load.acknowledged - acknowledged.size;
  assert(during > 0, "nothing was acknowledged during the backup");
  assertEquals(load.refused, 0);
  const refused = await runTask("restore", backup, `--kv=${path}`);
  assertEquals(refused.code, 3, refused.stderr);
  assertStringIncludes(refused.stderr, `in use by ${user}`);
  await load.reached(load.acknowledged + CALLS.after);
  const stateOf = (call: Call) =>
    acknowledged.has(call) ? "acknowledged" : attempted.has(call) ? "sent" : "unsent";
  const restored = () => {
    const before = new Load(0);
    for (const { calls, ...script } of load.scripts) {
      const known = calls.map((call): Call => ({ ...call, state: stateOf(call) }));
      before.scripts.push({ ...script, calls: known });
    }
    return before;
  };
  return { during, restored };
}

async function runOk(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runTask(...args);
  assertEquals(code, 0, stderr);
  return stdout;
}
