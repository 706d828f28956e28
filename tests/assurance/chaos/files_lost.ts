/** Deletes, moves, replaces or write-protects the ledger's files under a running service. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { stopExact } from "./verify.ts";
import { accessTo, formatCounts, msSince, number, settingsIn, startLoad } from "./fault.ts";

/**
 * Ways to lose a file permanently: a write acknowledged afterwards would be lost with the process.
 */
const LOSSES: Record<string, (folder: string) => Promise<void>> = {
  "the file deleted": (folder) => Deno.remove(`${folder}/ledger.kv`),
  "its log of commits deleted": (folder) => Deno.remove(`${folder}/ledger.kv-wal`),
  "the folder deleted": (folder) => Deno.remove(folder, { recursive: true }),
  "the file replaced by a copy": async (folder) => {
    await Deno.copyFile(`${folder}/ledger.kv`, `${folder}/copy`);
    await Deno.rename(`${folder}/copy`, `${folder}/ledger.kv`);
  },
};

/** Calls before a loss, and refused after it. */
const CALLS = { before: 200, refused: 100 } as const;

/** Loses files in each way; nothing may be acknowledged afterwards. */
export async function filesLost(): Promise<string> {
  const results: string[] = [];
  for (const [name, lose] of Object.entries(LOSSES)) {
    await withFolder(async (folder) => {
      const inner = `${folder}/inner`;
      await Deno.mkdir(inner);
      await using process = await Process.start(settingsIn(inner));
      await loadUntil(process, 0, ({ acknowledged }) => acknowledged >= CALLS.before);
      await lose(inner);
      const after = await loadUntil(process, 1, ({ refused }) => refused >= CALLS.refused);
      assertEquals(
        after.acknowledged,
        0,
        `${name}: a call was acknowledged after its file was lost`,
      );
      assertEquals(Object.keys(after.refusals), ["storage_unavailable"]);
      assertEquals(await statusOf(`${process.url}/readyz`), 503, name);
      assertEquals((await process.stop()).code, 0);
      results.push(`${name}: ${number(after.refused)} of ${number(after.refused)} calls 503`);
    });
  }
  return results.join(", ");
}

/** Moves the folder away under load and back. */
export async function filesMoved(): Promise<string> {
  return await withFolder(async (folder) => {
    const inner = `${folder}/inner`, away = `${folder}/away`;
    await Deno.mkdir(inner);
    const settings = settingsIn(inner);
    await using process = await Process.start(settings);
    const load = new Load(0);
    await using running = startLoad(load, process);
    await load.reached(CALLS.before);
    await Deno.rename(inner, away);
    await load.until(({ refused }) => refused >= CALLS.refused);
    await Deno.rename(away, inner);
    const [backMs, acknowledged] = [performance.now(), load.acknowledged];
    await load.until((load) => load.acknowledged > acknowledged);
    const acceptedIn = msSince(backMs);
    await running.stop();
    await load.resend(accessTo(process));
    const verified = await stopExact(process, settings.RUNLEDGER_KV, [load]);
    return `${formatCounts(verified)}, ${number(load.refused)} calls refused with 503, ` +
      `accepted again ${acceptedIn} after it was back, exact`;
  });
}

/**
 * Removes write permission from the file: open handles keep working, and the next start is refused.
 */
export async function fileReadOnly(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const path = settings.RUNLEDGER_KV;
    await using process = await Process.start(settings);
    const load = new Load(0);
    await using running = startLoad(load, process);
    await load.reached(CALLS.before);
    await Deno.chmod(path, 0o444);
    await load.reached(2 * CALLS.before);
    await running.stop();
    assertEquals(load.refused, 0);
    assertEquals((await process.stop()).code, 0);
    const { code, stderr, ms } = await runToEnd(settings);
    assertEquals(code, 3);
    assertStringIncludes(stderr, "is read-only");
    await Deno.chmod(path, 0o600);
    await using again = await Process.start(settings);
    await load.resend(accessTo(again));
    const verified = await stopExact(again, path, [load]);
    return `${formatCounts(verified)}, none refused by the process that had it open; ` +
      `the next one ended with 3 in ${Math.round(ms)} ms, exact`;
  });
}

/** Puts load number `n` on a server until a condition is true. */
async function loadUntil(
  process: Process,
  n: number,
  wanted: (load: Load) => boolean,
): Promise<Load> {
  const load = new Load(n * 1_000_000);
  await using running = startLoad(load, process);
  await load.until(wanted);
  await running.stop();
  return load;
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.status;
}
