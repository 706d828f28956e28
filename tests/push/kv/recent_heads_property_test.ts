/**
 * Heads in memory under random calls, faults, losses of heads and restarts, with a worker at work:
 * summaries and roll-ups equal what is stored.
 */
import { isOfStore, Overloaded, StorageUnavailable } from "../../../domain/core/errors.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { SEED } from "../../support/harness/seed.ts";
import {
  aCall,
  assertSumsAddUp,
  finish,
  open,
  run,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { HookedProcess } from "../../support/harness/hooked_process.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { Gate } from "../../support/harness/worker_harness.ts";
import { pendingName } from "../../../kv/writer/group.ts";

import fc from "fast-check";

const RUNS = 2;

const CALLS = ["open", "finish", "start", "ok", "events"] as const;
const OTHERS = [
  "work",
  "work",
  "restart",
  "lose the head",
  "refuse",
  "fail",
  "store, then fail",
  "hold",
  "store, then hold",
  "release",
] as const;

const steps = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...CALLS) },
      { weight: 2, arbitrary: fc.constantFrom(...OTHERS) },
    ),
    n: fc.nat(RUNS - 1),
    /** Number of the event in a batch. */
    event: fc.integer({ min: 1, max: 5 }),
    /** True to continue when the step has ended. */
    isAwaited: fc.boolean(),
  }),
  { minLength: 4, maxLength: 30 },
);
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

/** Plays steps on a new team, then processes everything. */
async function play(temp: TempStore, all: Steps, team: typeof TEAM): Promise<void> {
  let process = await HookedProcess.ready(temp.store);
  let working: Promise<unknown> = Promise.resolve();
  let gates: Gate[] = [];
  const running: Promise<unknown>[] = [];
  const release = () => {
    for (const gate of gates) gate.open();
    gates = [];
  };
  const call = (kind: typeof CALLS[number], n: number, event: number): Promise<unknown> => {
    const { runs } = process;
    const id = run(n);
    switch (kind) {
      case "open":
        return open(runs, n, {}, team);
      case "finish":
        return finish(runs, n, team);
      case "start":
      case "ok":
        return runs.heartbeat(team, { id, agent: "a", status: kind, reported: {} }, NOON);
      case "events":
        return runs.append(team, id, [aCall(event)], NOON);
      default:
        return kind satisfies never;
    }
  };
  const other = async (kind: typeof OTHERS[number], n: number): Promise<unknown> => {
    switch (kind) {
      case "work":
        return working = working.then(() => process.work());
      case "restart":
        release();
        await Promise.all([...running, working]);
        return process = await HookedProcess.ready(temp.store);
      case "lose the head":
        return process.store.heads.forget(pendingName(team.id, run(n)));
      case "refuse":
        return process.once(() => Promise.reject(new Overloaded("full")));
      case "fail":
        return process.once(() => Promise.reject(new StorageUnavailable("failed")));
      case "store, then fail":
        return process.once(async (write, commit) => {
          await commit(write);
          throw new StorageUnavailable("failed");
        });
      case "hold":
      case "store, then hold": {
        const gate = new Gate();
        gates.push(gate);
        return process.once(async (write, commit) => {
          if (kind === "hold") await gate.pass();
          const version = await commit(write);
          if (kind !== "hold") await gate.pass();
          return version;
        });
      }
      case "release":
        return release();
      default:
        return kind satisfies never;
    }
  };
  for (const { kind, n, event, isAwaited } of all) {
    if (OTHERS.includes(kind as never)) {
      const done = other(kind as typeof OTHERS[number], n);
      if (kind !== "work" || (isAwaited && gates.length === 0)) await done;
      continue;
    }
    const answer = call(kind as typeof CALLS[number], n, event).catch((error) => {
      if (!isOfStore(error)) throw error;
    });
    running.push(answer);
    if (isAwaited && gates.length === 0) await answer;
    // Later steps meet it at another point.
    else await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, event - 1))]);
  }
  release();
  await Promise.all([...running, working]);
  await process.work();
  await assertSumsAddUp(process.store);
}

TempStore.test("recent heads: any calls, faults, lost heads and restarts", async (temp) => {
  let teams = 0;
  await fc.assert(
    fc.asyncProperty(
      steps,
      (all) => play(temp, all, { ...TEAM, id: `team-${teams++}` as TeamId }),
    ),
    { seed: SEED, numRuns: 40 },
  );
});
