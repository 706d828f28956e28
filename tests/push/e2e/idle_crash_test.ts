/** Tests that kill -9 while runs are being closed leaves each of them closed once, at its deadline. */
import { assert, assertEquals } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { IdleClose } from "../../../domain/runs/idle.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { Store } from "../../../kv/store.ts";
import { run } from "../../support/builders/stored_runs.ts";
import { Process } from "../../support/harness/process.ts";
import { RetentionHarness } from "../../support/harness/retention_harness.ts";
import { inFolder, onStore } from "../../support/harness/temp_store.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";
import { until } from "../../support/harness/until.ts";

const KEY = `apk_eu_${"a9".repeat(16)}`;

const RUNS = 1_500, TIMEOUT_MS = 60_000;

/** Stores runs whose deadlines have passed while the service was down. */
async function fill(store: Store, openedMs: number): Promise<TeamId> {
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const environment = { now: () => openedMs, random };
  const options = { region: "eu", key: KEY, tier: "free" } as const;
  const { team } = await ensureFirstTeam(store, environment, options);
  const harness = new RetentionHarness(store);
  harness.nowMs = openedMs;
  for (let from = 0; from < RUNS; from += 500) {
    const ids = Array.from({ length: 500 }, (_, n) => from + n);
    await Promise.all(ids.map((n) =>
      harness.runs.open(
        team,
        { id: run(n), agent: "a", startedAt: openedMs + n, idleTimeoutSeconds: TIMEOUT_MS / 1_000 },
        openedMs,
      )
    ));
  }
  await harness.work();
  return team.id;
}

/** Resolves when so many runs are closed. */
async function closed(process: Process, isEnough: (runs: number) => boolean): Promise<void> {
  // The spend API has a rate limit.
  const areClosed = async () => isEnough((await countsOf(process))["timeout"] ?? 0);
  await until(areClosed, () => "too few are closed", 20);
}

/** Counts the runs of each status. */
async function countsOf({ url }: Process): Promise<Record<string, number>> {
  const headers = { Authorization: `Bearer ${KEY}` };
  const answer = await fetch(`${url}/v1/spend?group_by=status`, { headers });
  const { groups } = await answer.json();
  return Object.fromEntries(
    groups.map(({ key, runs }: { key: string; runs: number }) => [key, runs]),
  );
}

inFolder.test("after kill -9 the next process closes the idle runs that are left, each at its deadline", async (folder) => {
  const path = `${folder}/test.kv`;
  const settings = { RUNLEDGER_KV: path, RUNLEDGER_KEY: KEY };
  const openedMs = Date.now() - 10 * TIMEOUT_MS;
  const team = await onStore(path, (store) => fill(store, openedMs));
  {
    await using first = await Process.start(settings);
    await closed(first, (runs) => runs > 0);
    assertEquals((await first.stop("SIGKILL")).signal, "SIGKILL");
  }
  const left = await onStore(
    path,
    async (store) => (await Array.fromAsync(store.reader.list({ prefix: keys.work() }))).length,
  );
  assert(left > 0, "the kill came too late");

  await using second = await Process.start(settings);
  await closed(second, (runs) => runs === RUNS);
  assertEquals((await second.stop("SIGTERM")).code, 0);
  await onStore(path, async (store) => {
    // What the stopped process had not processed yet.
    await new RetentionHarness(store).work();
    for (let n = 0; n < RUNS; n++) {
      const { value } = await store.reader.get<IdleClose>(keys.idle(team, run(n)));
      const [at, receivedAt] = [openedMs + n, openedMs + TIMEOUT_MS];
      assertEquals(value, { status: "timeout", at, receivedAt, seen: 0 }, run(n));
    }
    const due = await Array.fromAsync(store.reader.list({ prefix: keys.work("settled") }));
    // The incident of so many timeouts expires one day.
    assertEquals(due.filter(({ key: [, , , kind] }) => kind !== "incident"), []);
    await assertClean(store);
  });
});
