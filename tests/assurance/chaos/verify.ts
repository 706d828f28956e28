/** A ledger's file held against what clients were told, and against itself. */
import { runStoreOf } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { monthOf } from "../../../domain/core/time.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { Load } from "../../support/harness/load.ts";
import { assertSumsAddUp, TEAM } from "../../support/builders/pipeline.ts";
import type { Process } from "../../support/harness/process.ts";
import { withStore } from "../../support/harness/temp_store.ts";
import { noTally, type Tally, verifyRun } from "../../support/oracles/verify.ts";

/** What the worker may take for what another process left: it looks at least once a minute. */
const MARKS_MS_MAX = 70_000;

/** Holds the file of a ledger that no process has against what clients were told. */
export async function verify(path: string, loads: readonly Load[]): Promise<Tally> {
  return await withStore(path, async (store, id) => {
    const runs = runStoreOf(store);
    const tally = noTally();
    for (const script of loads.flatMap(({ scripts }) => scripts)) {
      const run = await runs.read({ ...TEAM, id }, script.id, null, 100);
      const held = {
        opened: (run?.parts.opening ?? null) !== null,
        closed: (run?.parts.closing ?? null) !== null,
        ids: run?.events.map((event) => event.id) ?? [],
        events: run?.totals.events ?? 0,
      };
      verifyRun(held, script, tally);
    }
    const usage = await store.reader.get<Deno.KvU64>(keys.usage(id, monthOf(Date.now())));
    assertEquals(usage.value?.value ?? 0n, BigInt(tally.stored), "usage is not what is stored");
    return tally;
  });
}

/** Resolves once no mark is left in the file of a running process. */
export async function noMarksLeft(path: string): Promise<void> {
  // The keys that begin with the text "dirty", as the store writes them.
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
 * Lets a process finish what waits, stops it, and fails unless the ledger is what clients were told and
 * every sum in it is that of its parts. Answers what it holds.
 */
export async function stopExact(
  process: Process,
  path: string,
  loads: readonly Load[],
): Promise<Tally> {
  await noMarksLeft(path);
  assertEquals((await process.stop()).code, 0);
  const tally = await verify(path, loads);
  await assertExact(path);
  return tally;
}

/** Fails unless every sum in a ledger that no process has is that of its parts. */
export async function assertExact(path: string): Promise<void> {
  await withStore(path, assertSumsAddUp);
}
