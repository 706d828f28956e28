/** The writer when callers time out: what was not sent by then is never stored. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Deadlines } from "../../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { SEED } from "../../support/harness/seed.ts";
import { FakeTimers } from "../../support/fakes/fake_timers.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { writerOver } from "../../support/harness/stores.ts";

const DEADLINE_MS = 100;

/** Outcome of a write: `late` may still be stored, `refused` never is. */
type Outcome = "stored" | "stale" | "failed" | "late" | "refused";

async function outcomeOf(commit: Promise<string | null>): Promise<Outcome> {
  try {
    return await commit === null ? "stale" : "stored";
  } catch (error) {
    assert(error instanceof StorageUnavailable, String(error));
    if (error.message.startsWith("Cannot commit")) return "failed";
    return error.ended === undefined ? "refused" : "late";
  }
}

function insert(key: number, value: number) {
  const at = ["item", key];
  return { checks: [{ key: at, versionstamp: null }], sets: [{ key: at, value }] };
}

async function valuesIn(kv: Deno.Kv): Promise<number[]> {
  const rows = await Array.fromAsync(kv.list<number>({ prefix: ["item"] }));
  return rows.map(({ value }) => value);
}

/** Lets the event loop send what was committed so far. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("writer deadlines: a queued write that no commit was sent for is never stored", async () => {
  using kv = await Deno.openKv(":memory:");
  const timers = new FakeTimers();
  using deadlines = new Deadlines(DEADLINE_MS, timers);
  const gate = Promise.withResolvers<void>();
  const plan: Fault[] = ["stall", "stall"];
  const stalling = faultKv(kv, () => plan.shift() ?? "none", () => gate.promise);
  const writer = writerOver(stalling, kv, BACK_ENDS.embedded, deadlines);
  const outcomes: Promise<Outcome>[] = [];
  const commit = (key: number, value: number) =>
    outcomes.push(outcomeOf(writer.commit(insert(key, value))));
  commit(1, 1);
  await turn();
  commit(2, 2);
  await turn();
  // Both commits are in flight. These wait in the queue, for its key, and for a key in flight.
  commit(3, 3);
  commit(3, 4);
  commit(1, 5);
  await turn();
  timers.advance(DEADLINE_MS);
  assertEquals(await Promise.all(outcomes), ["late", "late", "refused", "refused", "refused"]);
  assertEquals(writer.pendingWrites, 2);
  // Their keys and their places are free again.
  const next = outcomeOf(writer.commit(insert(3, 6)));
  gate.resolve();
  assertEquals(await next, "stored");
  await writer.idle();
  assertEquals(await valuesIn(kv), [1, 2, 6]);
});

Deno.test("writer deadlines: a write whose commit conflicted after the deadline is not sent again", async () => {
  using kv = await Deno.openKv(":memory:");
  const timers = new FakeTimers();
  using deadlines = new Deadlines(DEADLINE_MS, timers);
  // The caller times out while the commit is in flight, which then stores nothing.
  let commits = 0;
  const conflicting = faultKv(kv, () => {
    commits++;
    timers.advance(DEADLINE_MS);
    return "lost";
  });
  const writer = writerOver(conflicting, kv, BACK_ENDS.embedded, deadlines);
  const error = await writer.commit(insert(1, 1)).catch((error) => error);
  assert(error instanceof StorageUnavailable && error.ended !== undefined, String(error));
  await error.ended;
  assertEquals([commits, writer.pendingWrites], [1, 0]);
  assertEquals((await kv.get(["item", 1])).value, null);
});

/** A test step: a write of a key, or the passing of a part of the deadline. */
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ key: fc.nat(8) }) },
    { weight: 1, arbitrary: fc.record({ ms: fc.constantFrom(0, DEADLINE_MS / 2, DEADLINE_MS) }) },
  ),
  { minLength: 1, maxLength: 60 },
);
const plans = fc.array(
  fc.constantFrom<Fault>("none", "stall", "stall then throw", "lost", "slow"),
  { maxLength: 30 },
);

Deno.test("writer deadlines: every outcome is true, whenever callers time out", async () => {
  const reached = new Set<Outcome>();
  await fc.assert(
    fc.asyncProperty(steps, plans, async (steps, plan) => {
      using kv = await Deno.openKv(":memory:");
      const timers = new FakeTimers();
      using deadlines = new Deadlines(DEADLINE_MS, timers);
      const failing = faultKv(kv, () => plan.shift() ?? "none", turn);
      // Small commits, so that writes queue up.
      const limits = { ...BACK_ENDS.embedded, checks: 2 };
      const writer = writerOver(failing, kv, limits, deadlines);
      const outcomes: Promise<Outcome>[] = [];
      for (const step of steps) {
        if ("key" in step) {
          outcomes.push(outcomeOf(writer.commit(insert(step.key, outcomes.length))));
        } else {
          timers.advance(step.ms);
          await turn();
        }
      }
      const reported = await Promise.all(outcomes);
      await writer.idle();
      assertEquals(writer.pendingWrites, 0);
      const stored = new Set(await valuesIn(kv));
      reported.forEach((outcome, n) => {
        reached.add(outcome);
        if (outcome === "stored") assert(stored.has(n), "acknowledged and not there");
        if (outcome === "stale" || outcome === "refused") assert(!stored.has(n), outcome);
      });
    }),
    { seed: SEED, numRuns: 100 },
  );
  assertEquals(reached.size, 5, [...reached].join());
});
