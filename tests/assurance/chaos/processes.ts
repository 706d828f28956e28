/** Starts a second process on one ledger. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { resendAndStop, stopExact } from "./verify.ts";
import { accessTo, number, settingsIn, startLoad, underLoad } from "./fault.ts";

/** Calls that each process acknowledges. */
const CALLS = 250;

/**
 * Starts a second process as an operator might by mistake: it exits, and the first is unaffected.
 */
export async function secondProcess(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    return await underLoad(settings, CALLS, async (first, load, running) => {
      const { code, stderr, ms } = await runToEnd(settings);
      assertEquals(code, 3);
      assertStringIncludes(stderr, `in use by process ${first.pid}`);
      await running.stop();
      assertEquals(load.refused, 0);
      const counts = await resendAndStop(first, settings.RUNLEDGER_KV, load);
      return `${counts}, none refused by the first, the second ended with 3 in ` +
        `${Math.round(ms)} ms, exact`;
    });
  });
}

/**
 * Removes the lock file, so that a second process opens the file, and sends both the same calls.
 * The first must notice, and then acknowledge only writes that it finds stored.
 */
export async function twoProcesses(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const path = settings.RUNLEDGER_KV;
    await using first = await Process.start(settings);
    await Deno.remove(`${path}.lock`);
    await using second = await Process.start(settings);
    const loads = [new Load(0), new Load(0)] as const;
    await using one = startLoad(loads[0], first);
    await using other = startLoad(loads[1], second);
    await Promise.all([
      loads[0].until(({ refused }) => refused >= CALLS),
      loads[1].reached(CALLS),
    ]);
    await one.stop();
    assertEquals((await first.stop()).code, 0);
    await other.stop();
    for (const load of loads) await load.resend(accessTo(second));
    // Both loads started with the same runs, so the longer one contains all of them.
    const [longer] = loads.toSorted((a, b) => b.scripts.length - a.scripts.length);
    const verified = await stopExact(second, path, longer === undefined ? [] : [longer]);
    return `${number(loads[0].refused)} calls refused by the first, ${number(verified.stored)} ` +
      "things stored, each once, exact";
  });
}
