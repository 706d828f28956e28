/** Faults of the ledger's file: lost, moved, write-protected, damaged, or locked by another program. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { resendAndStop } from "./verify.ts";
import {
  acknowledgedAgain,
  KEY,
  number,
  settingsIn,
  startLoad,
  statusOf,
  underLoad,
} from "./fault.ts";

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
    return await underLoad(settings, CALLS.before, async (process, load, running) => {
      await Deno.rename(inner, away);
      await load.until(({ refused }) => refused >= CALLS.refused);
      await Deno.rename(away, inner);
      const acceptedIn = await acknowledgedAgain(load);
      await running.stop();
      const counts = await resendAndStop(process, settings.RUNLEDGER_KV, load);
      return `${counts}, ${number(load.refused)} calls refused with 503, ` +
        `accepted again ${acceptedIn} after it was back, exact`;
    });
  });
}

/**
 * Removes write permission from the file: open handles keep working, and the next start is refused.
 */
export async function fileReadOnly(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const path = settings.RUNLEDGER_KV;
    const load = await underLoad(settings, CALLS.before, async (process, load, running) => {
      await Deno.chmod(path, 0o444);
      await load.reached(2 * CALLS.before);
      await running.stop();
      assertEquals(load.refused, 0);
      assertEquals((await process.stop()).code, 0);
      return load;
    });
    const { code, stderr, ms } = await runToEnd(settings);
    assertEquals(code, 3);
    assertStringIncludes(stderr, "is read-only");
    await Deno.chmod(path, 0o600);
    await using again = await Process.start(settings);
    const counts = await resendAndStop(again, path, load);
    return `${counts}, none refused by the process that had it open; ` +
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

/** Calls that make the file large enough for the damage. */
const CALLS_OF_DAMAGE = 1_000;

/** Runs read in parallel. */
const READS = 16;

/**
 * Overwrites the middle half of the file under a running service. An unreadable run must never be
 * returned as missing or empty, and the next start must refuse the file.
 */
export async function fileDamaged(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const load = await underLoad(settings, CALLS_OF_DAMAGE, async (process, load, running) => {
      await running.stop();
      // The last process to close the file merges the write-ahead log into it.
      assertEquals((await process.stop()).code, 0);
      return load;
    });
    await using process = await Process.start(settings);
    await overwriteMiddle(settings.RUNLEDGER_KV);
    const read = { complete: 0, refused: 0 };
    const closed = load.scripts.filter(({ calls }) =>
      calls.every(({ state }) => state === "acknowledged")
    );
    for (let at = 0; at < closed.length; at += READS) {
      const reads = closed.slice(at, at + READS).map(({ id }) => readRun(process.url, id));
      for (const outcome of await Promise.all(reads)) read[outcome]++;
    }
    assert(read.refused > 0, "no run was damaged");
    const { code } = await process.stop();
    assertEquals(code, 0);
    const { code: next, stderr, ms } = await runToEnd(settings);
    assertEquals(next, 3);
    assertStringIncludes(stderr, "is damaged");
    return `of ${number(read.complete + read.refused)} runs ${
      number(read.complete)
    } were read completely, ` +
      `${number(read.refused)} refused with 503, none missing; ` +
      `the next process ended with 3 in ${Math.round(ms)} ms`;
  });
}

async function overwriteMiddle(path: string): Promise<void> {
  const { size } = await Deno.stat(path);
  using file = await Deno.open(path, { write: true });
  await file.seek(Math.floor(size / 4), Deno.SeekMode.Start);
  const bytes = new Uint8Array(Math.floor(size / 2)).fill(0xff);
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

/** Reads a closed run, which must be complete or refused. */
async function readRun(url: string, id: string): Promise<"complete" | "refused"> {
  const headers = { Authorization: `Bearer ${KEY}` };
  const response = await fetch(`${url}/v1/runs/${id}`, { headers });
  const { status, finished_at, error } = await response.json();
  if (response.status === 200) {
    assert(finished_at !== null && status !== "running", `${id} has lost its close`);
    return "complete";
  }
  assertEquals([response.status, error], [503, "storage_unavailable"], id);
  return "refused";
}

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
    await load.reached(CALLS.before);
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
    const acceptedIn = await acknowledgedAgain(load);
    await load.reached(load.acknowledged + 100);
    await running.stop();
    assertEquals(Object.keys(load.refusals), ["storage_unavailable"]);
    const counts = await resendAndStop(process, path, load);
    return `${counts}, ${number(load.refused)} calls refused with 503 and ` +
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
  const status = await statusOf(`${url}/v1/spend`);
  assert(status === 200 || status === 503, `${status}`);
  return status === 200;
}
