/**
 * Tests that a sweep and a customer's deletion survive kill -9: both complete, and all numbers are
 * exact.
 */

import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Team } from "../../../domain/teams/team.ts";
import { type CustomerDeletion, nightOf } from "../../../domain/retention/retention.ts";
import { groupsOf } from "../../../kv/base/reads.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { Store } from "../../../kv/store.ts";
import {
  contentsOf,
  DAY_MS,
  RetentionHarness,
  SUM_ROWS,
} from "../../support/harness/retention_harness.ts";
import { aRunNow } from "../../support/builders/old_ledger.ts";
import { Process } from "../../support/harness/process.ts";
import { assertClean, assertExact } from "../../support/oracles/stray_rows.ts";
import { inFolder, onStore } from "../../support/harness/temp_store.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";
import { until } from "../../support/harness/until.ts";

const KEY = `apk_eu_${"a8".repeat(16)}`;

/** Runs that are due when the program starts, and runs that are deleted afterwards. */
const OLD = 600, YOUNG = 600;

/** Stores old runs of one customer, and recent runs of another. */
async function fill(store: Store): Promise<Team> {
  const region = "eu";
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const environment = { now: () => Date.now(), random };
  const { team } = await ensureFirstTeam(store, environment, {
    region,
    key: KEY,
    tier: "free",
  });
  const archive = new RetentionHarness(store);
  await archive.sweeps.startClock(Date.now() - DAY_MS);
  for (const [first, count, days] of [[0, OLD, 40], [OLD, YOUNG, 1]] as const) {
    archive.nowMs = Date.now() - days * DAY_MS;
    const all = Array.from({ length: count }, (_, i) => first + i);
    // A busy machine does not store all of them at once in time.
    for (const group of groupsOf(all, 50)) {
      await Promise.all(
        group.map((n) => aRunNow(archive, team, n, { customerId: n % 3 > 0 ? "acme" : "globex" })),
      );
    }
  }
  await archive.work();
  return team;
}

/** Kills the process when a key family has fewer than the given rows; resolves to its end. */
async function killBelow(process: Process, path: string, family: string, rows: number) {
  const name = [...new TextEncoder().encode(family)].map((byte) => byte.toString(16)).join("");
  using database = new DatabaseSync(path, { readOnly: true });
  const count = database.prepare(
    `SELECT count(*) AS rows FROM kv WHERE k > x'02${name}00' AND k < x'02${name}01'`,
  );
  await until(() => Number(count.get()?.rows) < rows, () => `${rows} rows are left`, 2);
  assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
}

inFolder.test("after kill -9 the next process completes a sweep and a customer's deletion, and all is exact", async (folder) => {
  const path = `${folder}/test.kv`;
  const settings = { RUNLEDGER_KV: path, RUNLEDGER_KEY: KEY };
  const { team, sums, rows } = await onStore(path, async (store) => {
    const team = await fill(store);
    const { length: rows } = await Array.fromAsync(store.reader.list({ prefix: keys.runs() }));
    return { team, sums: await contentsOf(store, SUM_ROWS), rows };
  });
  const rowsPerRun = rows / (OLD + YOUNG);

  // It starts with the current night, which has not been swept.
  await using first = await Process.start(settings);
  await killBelow(first, path, "run", rows - 150 * rowsPerRun);
  const sweptMs = await onStore(path, async (store) => {
    const remaining = await Array.fromAsync(store.reader.list({ prefix: keys.runs() }));
    assert(remaining.length > YOUNG * rowsPerRun, "the kill came too late");
    await assertClean(store);
    // Expire its lease, so that the test does not wait a minute.
    const { sweeps } = new RetentionHarness(store);
    const report = await sweeps.report(nightOf(Date.now()));
    assert(report !== null && report.report.finishedAt === null);
    await sweeps.saveReport(report, { ...report.report, toldAt: 0 });
    return report.report.startedAt;
  });

  await using second = await Process.start(settings);
  assert(await second.logs(/"sweep":\{.*"finishedAt":\d/) !== null);
  assertEquals(second.stdout.includes("failure"), false, second.stdout);
  const url = `${second.url}/v1/customers/acme`;
  const headers = { Authorization: `Bearer ${KEY}` };
  const pending = fetch(url, { method: "DELETE", headers }).then(
    (response) => response.text(),
    () => null,
  );
  // A deleted run loses its summary; a tombstone takes the place of each other row.
  await killBelow(second, path, "run", YOUNG * rowsPerRun - 60);
  await pending;
  const id = await onStore(path, async (store) => {
    await assertExact(store);
    assertEquals((await new RetentionHarness(store).sweeps.reports(9)).length, 1, `${sweptMs}`);
    const [job] = await Array.fromAsync(
      store.reader.list<CustomerDeletion>({ prefix: keys.jobs("deletion", team.id) }),
    );
    assert(job !== undefined && job.value.state === "running", "the kill came too late");
    return job.value.id;
  });

  await using third = await Process.start(settings);
  const job = await until(async () => {
    const json = await (await fetch(`${third.url}/v1/deletions/${id}`, { headers })).json();
    return json.state === "done" && json;
  });
  assertEquals([job.runs, job.events, job.spend_days, job.runs_failed], [400, 400, 1, 0]);
  assertEquals((await third.stop("SIGTERM")).code, 0);
  await onStore(path, async (store) => {
    await assertClean(store);
    assert((await contentsOf(store, SUM_ROWS)).length < sums.length);
  });
});
