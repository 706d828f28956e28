/**
 * Tests a process whose clock is far ahead of its ledger: it removes almost nothing at its start.
 */

import { assert, assertEquals } from "@std/assert";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { aRunNow } from "../../support/builders/old_ledger.ts";
import { readRun, run } from "../../support/builders/stored_runs.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder, onStore } from "../../support/harness/temp_store.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";

const KEY = `apk_eu_${"b7".repeat(16)}`;

/** Lead of the process's clock: more than the plan `free` keeps anything. */
const AHEAD_MS = 45 * DAY_MS;

const RUNS = 20;

inFolder.test("a start with a clock that is 45 days ahead removes no run", async (folder) => {
  const path = `${folder}/test.kv`;
  const thenMs = Date.now() - AHEAD_MS;
  const team = await onStore(path, async (store) => {
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    const environment = { now: () => thenMs, random };
    const settings = { region: "eu", key: KEY, tier: "free" } as const;
    const { team } = await ensureFirstTeam(store, environment, settings);
    const archive = new RetentionHarness(store);
    archive.nowMs = thenMs;
    await archive.sweeps.startClock(thenMs);
    for (let n = 0; n < RUNS; n++) await aRunNow(archive, team, n);
    await archive.work();
    return team;
  });
  {
    await using process = await Process.start({ RUNLEDGER_KV: path, RUNLEDGER_KEY: KEY });
    const line = await process.logs(/"sweep":\{.*"finishedAt":\d/);
    assert(line !== null);
    assertEquals((await process.stop("SIGTERM")).code, 0);
  }
  await onStore(path, async (store) => {
    const archive = new RetentionHarness(store);
    for (let n = 0; n < RUNS; n++) {
      const page = await readRun(archive.runs, team, run(n), null, 9);
      assertEquals([page?.parts.opening?.goal, page?.events.length], ["g", 1], `run ${n}`);
    }
    const [report] = await archive.sweeps.reports(1);
    assertEquals(report?.clockAt, thenMs + 1.5 * DAY_MS);
  });
});
