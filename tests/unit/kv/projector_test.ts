/**
 * Summaries and roll-ups under any interleaving, with two workers, lost checks and lost responses.
 */
import { SEED } from "../../support/harness/seed.ts";
import { storeOver } from "../../support/harness/stores.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import type { HeartbeatRequest } from "../../../domain/runs/decide.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { type Store } from "../../../kv/store.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  aCall,
  assertSumsAddUp,
  dumpOf,
  finish,
  open,
  processAll,
  processingStoreOf,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const DAY_MS = 86_400_000;
const RUNS = 4;

/** One call to one of the runs. */
type Step =
  | { readonly kind: "open" | "finish" }
  | { readonly kind: "batch"; readonly events: readonly number[] }
  | { readonly kind: "heartbeat"; readonly fields: Partial<HeartbeatRequest> }
  | { readonly kind: "project"; readonly by: number };

const model = fc.constantFrom("known", "new", undefined);
const label = fc.constantFrom("acme", "globex", undefined);
const heartbeat = fc.record({
  status: fc.constantFrom("start", "ok", "fail"),
  customerId: label,
  feature: label,
  reported: fc.record({
    model,
    provider: fc.constantFrom("p", undefined),
    cost: fc.constantFrom(7n, 0n, undefined),
    inputTokens: fc.constantFrom(11, undefined),
  }),
});
const steps: fc.Arbitrary<readonly (Step & { readonly n: number })[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom("open" as const, "finish" as const), n: fc.nat(RUNS - 1) }),
    fc.record({
      kind: fc.constant("batch" as const),
      n: fc.nat(RUNS - 1),
      // Few numbers: most batches repeat events of an earlier one.
      events: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({
      kind: fc.constant("heartbeat" as const),
      n: fc.nat(RUNS - 1),
      fields: heartbeat as fc.Arbitrary<Partial<HeartbeatRequest>>,
    }),
    fc.record({ kind: fc.constant("project" as const), n: fc.nat(RUNS - 1), by: fc.nat(1) }),
  ),
  { minLength: 1, maxLength: 30 },
);

/** Models by call number: with a price, without, and by a provider. */
function callOf(n: number) {
  return aCall(n, n % 3 === 0 ? "new" : "known", n % 4 === 0 ? "p" : null);
}

/** Runs 2 and 3 start a day later than the others. */
async function take(runs: RunStore, step: Step, n: number, team: Team): Promise<void> {
  const startedAt = NOON + (n >> 1) * DAY_MS;
  switch (step.kind) {
    case "open":
      return void await open(runs, n, { startedAt, customerId: "acme" }, team);
    case "finish":
      return void await finish(runs, n, team);
    case "batch":
      return void await runs.append(team, run(n), step.events.map(callOf), NOON);
    case "heartbeat": {
      const request = { id: run(n), agent: "a", status: "ok", startedAt, reported: {} } as const;
      return void await runs.heartbeat(team, { ...request, ...step.fields }, NOON);
    }
    case "project":
      return;
    default:
      return step satisfies never;
  }
}

TempStore.test("roll-ups: any calls in any order, with two concurrent workers, equal the sum of their runs", async ({ store }) => {
  let teams = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      // A new team per attempt: the runs of all attempts stay and are aggregated again.
      const team = { ...TEAM, id: `team ${teams++}`.replace(" ", "-") as TeamId };
      const runs = runsOf(store);
      const workers = [processingStoreOf(store), processingStoreOf(store)];
      const calls: Promise<unknown>[] = [];
      for (const step of all) {
        if (step.kind === "project") {
          const ids = Array.from({ length: RUNS }, (_, n) => run(n)).slice(step.n);
          calls.push(workers[step.by]?.project(team.id, ids) ?? Promise.resolve());
        } else await take(runs, step, step.n, team);
      }
      await Promise.all(calls);
      await processAll(store, workers[teams % 2]);
    }),
    { seed: SEED, numRuns: 60 },
  );
  assert(await assertSumsAddUp(store) > 0);
  const before = await dumpOf(store);
  for (let n = 0; n < teams; n++) {
    const ids = Array.from({ length: RUNS }, (_, i) => run(i));
    await processingStoreOf(store).project(`team-${n}` as TeamId, ids);
  }
  assertEquals(await dumpOf(store), before, "projecting again changed something");
});

/** A store over the same file whose commits meet faults in turn. */
function faulty(store: Store, kv: Deno.Kv, plan: Fault[]): Store {
  const faults = faultKv(kv, () => plan.shift() ?? "none");
  return storeOver(faults, store.reader, BACK_ENDS.embedded, store.deadlines);
}

Deno.test("roll-ups: a commit of unknown outcome is retried and counted once", async () => {
  for (const fault of ["throw", "commit then throw", "lost"] as const) {
    using kv = await Deno.openKv(":memory:");
    using deadlines = new Deadlines(30_000, TIMERS);
    const store = storeOver(kv, kv, BACK_ENDS.embedded, deadlines);
    const runs = runsOf(store);
    const plan: Fault[] = [];
    const pipeline = processingStoreOf(faulty(store, kv, plan));
    for (const [i, step] of [open, finish].entries()) {
      await step(runs, 1);
      plan.push(fault);
      if (fault === "lost") await pipeline.project(TEAM.id, [run(1)]);
      else {
        await assertRejects(() => pipeline.project(TEAM.id, [run(1)]), StorageUnavailable);
        await pipeline.project(TEAM.id, [run(1)]);
      }
      assertEquals(await assertSumsAddUp(store), i, fault);
      assertEquals(plan, []);
    }
  }
});

TempStore.test("roll-ups: a worker that lost a race reads again and adds to the current values", async ({ store }) => {
  const runs = runsOf(store);
  const [one, other] = [processingStoreOf(store), processingStoreOf(store)];
  // Each has its own roll-ups in its cache; the other changed them since.
  for (let n = 0; n < 6; n++) {
    await open(runs, n);
    await runs.append(TEAM, run(n), [aCall(n + 1)], NOON);
    await (n % 2 === 0 ? one : other).project(TEAM.id, [run(n)]);
  }
  await Promise.all([
    ...[0, 1, 2].map((n) => finish(runs, n)),
    ...[3, 4, 5].map((n) => runs.append(TEAM, run(n), [aCall(n + 10)], NOON)),
  ]);
  const all = [0, 1, 2, 3, 4, 5].map(run);
  await Promise.all([one.project(TEAM.id, all), other.project(TEAM.id, all.toReversed())]);
  assertEquals(await assertSumsAddUp(store), 3);
});
