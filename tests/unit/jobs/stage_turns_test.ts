/** Turns of stages end in time, also if those of one team take long. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { DueRun, RunTask } from "../../../domain/runs/stages.ts";
import { StageTurns } from "../../../jobs/stages.ts";
import { run } from "../../support/builders/stored_runs.ts";
import type { ProcessingStore } from "../../../kv/summaries/processing_store.ts";

function dueOf(team: string, n: number): DueRun {
  return { team: team as TeamId, run: run(n), dueMs: 0, version: "1" };
}

/** Turns over due runs; `work` judges one of them. */
function turnsOf(rows: readonly DueRun[], work: (run: RunId) => Promise<void>) {
  const completed: string[] = [];
  const versions = { failure: null, summary: "1" };
  const store: Partial<ProcessingStore> = {
    takeDue: () => Promise.resolve([...rows]),
    begin: (row) => Promise.resolve({ ...row, work: "checks", failure: null, versions }),
    judge: ({ run }) => work(run),
    complete: ({ team }: RunTask) => Promise.resolve(void completed.push(team)),
  };
  const turns = new StageTurns({
    store: store as ProcessingStore,
    now: () => 0,
    logFailure: () => {},
    throwIfOfStore: (error) => Promise.reject(error),
    ended: () => {},
  });
  return { turns, completed };
}

Deno.test("stage turns: after half a second none begins, and each team has begun some", async () => {
  const { now } = performance;
  let passedMs = 0;
  using _clock = stub(performance, "now", () => now.call(performance) + passedMs);
  const busy = Array.from({ length: 9 }, (_, n) => dueOf("busy", n));
  const { turns, completed } = turnsOf([...busy, dueOf("other", 9)], async (id) => {
    if (id !== run(9)) passedMs += 600;
    await Promise.resolve();
  });
  assert(await turns.begin());
  await turns.end();
  assertEquals(completed.sort(), ["busy", "busy", "other"]);
  assert(turns.isResting);
});

Deno.test("stage turns: the next one rejects with the error of the last, and later ones go on", async () => {
  let isBroken = true;
  const { turns, completed } = turnsOf([dueOf("one", 1)], () => {
    return isBroken ? Promise.reject(new StorageUnavailable("broken")) : Promise.resolve();
  });
  assert(await turns.begin());
  await turns.end();
  isBroken = false;
  await assertRejects(() => turns.begin(), StorageUnavailable);
  assert(await turns.begin());
  await turns.end();
  assertEquals(completed, ["one"]);
});
