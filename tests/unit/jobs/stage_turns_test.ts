/** Turns of stages end in time, also if those of one team take long. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { ProcessingStore, StageTask } from "../../../domain/runs/processing.ts";
import { StageTurns } from "../../../jobs/stages.ts";
import { run } from "../../support/builders/stored_runs.ts";

function taskOf(team: string, n: number): StageTask {
  const stage = { stage: "checks", state: "pending", attempts: 0, at: 0 } as const;
  return { team: team as TeamId, run: run(n), dueMs: 0, revision: 1, version: "1", stage };
}

/** Turns over tasks; `work` runs one of them. */
function turnsOf(tasks: readonly StageTask[], work: (run: RunId) => Promise<void>) {
  const completed: string[] = [];
  const store = {
    dueStages: () => Promise.resolve([...tasks]),
    completeStage: ({ team }: StageTask) => Promise.resolve(void completed.push(team)),
  } as unknown as ProcessingStore;
  const turns = new StageTurns({
    store,
    stages: [{ name: "checks", applies: () => true, run: ({ run }) => work(run) }],
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
  const busy = Array.from({ length: 9 }, (_, n) => taskOf("busy", n));
  const { turns, completed } = turnsOf([...busy, taskOf("other", 9)], async (id) => {
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
  const { turns, completed } = turnsOf([taskOf("one", 1)], () => {
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
