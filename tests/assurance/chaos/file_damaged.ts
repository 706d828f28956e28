/** Overwrites pages of the ledger's file. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { Process, runToEnd } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { KEY, number, settingsIn, startLoad } from "./fault.ts";

/** Calls that make the file large enough for the damage. */
const CALLS = 1_000;

/** Runs read in parallel. */
const READS = 16;

/**
 * Overwrites the middle half of the file under a running service. An unreadable run must never be
 * returned as missing or empty, and the next start must refuse the file.
 */
export async function fileDamaged(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const load = new Load(0);
    {
      await using process = await Process.start(settings);
      await using running = startLoad(load, process);
      await load.reached(CALLS);
      await running.stop();
      // The last process to close the file merges the write-ahead log into it.
      assertEquals((await process.stop()).code, 0);
    }
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
