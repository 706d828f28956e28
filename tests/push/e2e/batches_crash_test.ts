/** Tests that kill -9 while large batches arrive leaves each of them stored completely or not (R36). */
import { assert, assertEquals } from "@std/assert";
import { STAGED_MS_MAX } from "../../../domain/retention/retention.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { Store } from "../../../kv/store.ts";
import { aLargeBatch } from "../../support/builders/large_batches.ts";
import { aRun, runId } from "../../support/builders/requests.ts";
import { Process } from "../../support/harness/process.ts";
import { RetentionHarness } from "../../support/harness/retention_harness.ts";
import { withFolder, withStore } from "../../support/harness/temp_store.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";

const KEY = `apk_eu_${"b7".repeat(16)}`;

const HEADERS = { Authorization: `Bearer ${KEY}` };

/** Events of a batch, and the bytes of all of them. */
const EVENTS = 50, BYTES = 12 * 1_048_576;

/** Kills, each at a random moment of the time that the first batch took, or earlier after late ones. */
const KILLS = 6;

const ALL = { accepted: EVENTS, duplicates: 0 }, AGAIN = { accepted: 0, duplicates: EVENTS };

/** Sends a call; returns null if the process was killed before it answered. */
async function post(url: string, path: string, body: string) {
  const headers = { ...HEADERS, "Content-Type": "application/json" };
  try {
    const answer = await fetch(`${url}${path}`, { method: "POST", headers, body });
    return { status: answer.status, json: await answer.json() };
  } catch {
    return null;
  }
}

/** Sends a batch until its answer is no 503: a busy machine may not confirm in time. */
async function postAll(url: string, path: string, body: string) {
  for (let tries = 1;; tries++) {
    const answer = await post(url, path, body);
    if (answer?.status !== 503) return { tries, ...answer };
  }
}

/** Reads the number of a run's events. */
async function eventsOf(url: string, path: string): Promise<number> {
  const answer = await fetch(`${url}${path}?events_limit=1`, { headers: HEADERS });
  return (await answer.json()).usage.events;
}

Deno.test("R36: after kill -9 a batch of 12 MiB is stored completely or not, and a retry completes it", async () => {
  const { body } = aLargeBatch(0, EVENTS, BYTES);
  await withFolder(async (folder) => {
    const path = `${folder}/test.kv`;
    const settings = { RUNLEDGER_KV: path, RUNLEDGER_KEY: KEY, RUNLEDGER_TIER: "enterprise" };
    const stagedIn = (store: Store) =>
      Array.fromAsync(store.reader.list({ prefix: keys.allStaged() }));
    let tookMs = 0, unstored = 0;
    // The process that follows a killed one is the next to be killed.
    let process = await Process.start(settings);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => process[Symbol.asyncDispose]());
    for (let round = 0; round <= KILLS; round++) {
      const run = `/v1/runs/${runId(round)}`;
      const opened = await post(process.url, "/v1/runs", JSON.stringify(aRun(round)));
      assertEquals(opened?.status, 202);
      const startedMs = performance.now();
      const sent = postAll(process.url, `${run}/events`, body);
      if (round === 0) {
        const { tries, status, json } = await sent;
        assertEquals([status, json], [202, tries === 1 ? ALL : json]);
        tookMs = performance.now() - startedMs;
      } else await new Promise((resolve) => setTimeout(resolve, tookMs * Math.random()));
      assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
      await sent;
      process = await Process.start(settings);
      const stored = await eventsOf(process.url, run);
      assert(stored === 0 || stored === EVENTS, `${stored} of ${EVENTS} events are stored`);
      if (stored === 0) unstored++;
      else if (round > 0) tookMs /= 2;
      const { tries, status, json } = await postAll(process.url, `${run}/events`, body);
      // What was not confirmed may be stored.
      const expected = stored > 0 ? AGAIN : tries === 1 ? ALL : json;
      assertEquals([status, json], [202, expected]);
      assertEquals(await eventsOf(process.url, run), EVENTS);
    }
    assertEquals((await process.stop("SIGTERM")).code, 0);
    assert(unstored > 0, "each kill came too late");
    await withStore(path, async (store) => {
      const harness = new RetentionHarness(store);
      await harness.work();
      await assertClean(store);
      const { length: left } = await stagedIn(store);
      await harness.sweeps.resume(Date.now() + STAGED_MS_MAX + 1);
      assertEquals((await stagedIn(store)).length, 0, `${left} kills left chunks`);
      await assertClean(store);
    });
  });
});
