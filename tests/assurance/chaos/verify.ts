/**
 * Compares a ledger's file with the responses that clients received, and checks its consistency.
 */
import { runStoreOf } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { monthOf } from "../../../domain/core/time.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { Load } from "../../support/harness/load.ts";
import { assertSumsAddUp, readRun, TEAM } from "../../support/builders/stored_runs.ts";
import type { Process } from "../../support/harness/process.ts";
import { withStore } from "../../support/harness/temp_store.ts";
import { emptyCounts, type PartCounts, verifyRun } from "../../support/oracles/verify.ts";
import { accessTo, formatCounts } from "./fault.ts";

/**
 * Maximum milliseconds in which the worker finds work of another process: it checks every minute.
 */
const MARKS_MS_MAX = 70_000;

/** Compares the file of a stopped ledger with the responses that clients received. */
export async function verify(path: string, loads: readonly Load[]): Promise<PartCounts> {
  return await withStore(path, async (store, id) => {
    const runs = runStoreOf(store);
    const counts = emptyCounts();
    for (const script of loads.flatMap(({ scripts }) => scripts)) {
      const run = await readRun(runs, { ...TEAM, id }, script.id, null, 100);
      const stored = {
        opened: (run?.parts.opening ?? null) !== null,
        closed: (run?.parts.closing ?? null) !== null,
        ids: run?.events.map((event) => event.id) ?? [],
        events: run?.totals.events ?? 0,
      };
      verifyRun(stored, script, counts);
    }
    const usage = await store.reader.get<Deno.KvU64>(keys.usage(id, monthOf(Date.now())));
    assertEquals(
      usage.value?.value ?? 0n,
      BigInt(counts.stored),
      "usage differs from the stored events",
    );
    return counts;
  });
}

/** Resolves when a running process has no pending work rows left. */
export async function noPendingWork(path: string): Promise<void> {
  // Keys that begin with the text "dirty", as the store encodes them.
  const count =
    "SELECT count(*) AS rows FROM kv WHERE k > x'02646972747900' AND k < x'02646972747901'";
  using database = new DatabaseSync(path, { readOnly: true });
  const statement = database.prepare(count);
  const startedMs = performance.now();
  while (statement.get()?.rows !== 0) {
    assert(performance.now() - startedMs < MARKS_MS_MAX, "marks are left");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Lets a process finish its pending work, stops it, and verifies the ledger. Fails unless it
 * matches the clients' responses and every total equals its parts. Returns the tally.
 */
export async function stopExact(
  process: Process,
  path: string,
  loads: readonly Load[],
): Promise<PartCounts> {
  await noPendingWork(path);
  assertEquals((await process.stop()).code, 0);
  const counts = await verify(path, loads);
  await assertExact(path);
  return counts;
}

/** Attempts of a resent call: a busy machine may refuse some for a moment. */
const RESENDS_MAX = 10;

/** Resends what clients have no acknowledgement of, and stops; returns the totals as text. */
export async function resendAndStop(
  process: Process,
  path: string,
  ...loads: readonly Load[]
): Promise<string> {
  for (const load of loads) await load.resend(accessTo(process), RESENDS_MAX);
  return formatCounts(await stopExact(process, path, loads));
}

/** Fails unless every total of a stopped ledger equals its parts. */
export async function assertExact(path: string): Promise<void> {
  await withStore(path, assertSumsAddUp);
}
