/** Slots: bounded, shared by teams in turn, and released by aborted waiters. */
import { assertEquals, assertRejects } from "@std/assert";
import { Overloaded } from "../../../domain/core/errors.ts";
import { FairSlots } from "../../../runtime/fair_slots.ts";

const NEVER = new AbortController().signal;
const LIMITS = { all: 2, team: 2, waiting: 5, teamWaiting: 4 };

/** Starts to wait, and records the team once it has a slot. */
function waitFor(slots: FairSlots, team: string, began: string[], signal = NEVER) {
  return slots.take(team, signal).then((release) => {
    began.push(team);
    return release;
  });
}

/** Lets every runnable task run. */
async function runMicrotasks(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

Deno.test("slots: another team's work waits for at most one turn", async () => {
  const slots = new FairSlots(LIMITS);
  const began: string[] = [];
  const running = [await slots.take("a", NEVER), await slots.take("a", NEVER)];
  const waits = ["a", "a", "a", "b"].map((team) => waitFor(slots, team, began));
  for (const release of running) {
    release();
    await runMicrotasks();
  }
  assertEquals(began, ["a", "b"]);
  for (const wait of waits.slice(0, 1)) (await wait)();
  await runMicrotasks();
  assertEquals(began, ["a", "b", "a"]);
});

Deno.test("slots: a team at its limit leaves free slots to others", async () => {
  const slots = new FairSlots({ ...LIMITS, team: 1 });
  const began: string[] = [];
  const release = await slots.take("a", NEVER);
  void waitFor(slots, "a", began);
  await waitFor(slots, "b", began);
  assertEquals(began, ["b"]);
  release();
  await runMicrotasks();
  assertEquals(began, ["b", "a"]);
});

Deno.test("slots: waiters beyond the limit are refused, per team and in total", async () => {
  const slots = new FairSlots(LIMITS);
  await slots.take("a", NEVER);
  await slots.take("a", NEVER);
  for (let n = 0; n < 4; n++) void slots.take("a", NEVER);
  await assertRejects(() => slots.take("a", NEVER), Overloaded);
  void slots.take("b", NEVER);
  await assertRejects(() => slots.take("c", NEVER), Overloaded);
  assertEquals(slots.waiting, 5);
});

Deno.test("slots: an aborted waiter takes no slot", async () => {
  const slots = new FairSlots({ ...LIMITS, all: 1 });
  const release = await slots.take("a", NEVER);
  const end = new AbortController();
  const ended = slots.take("b", end.signal);
  const began: string[] = [];
  const next = waitFor(slots, "c", began);
  end.abort(new Error("gone"));
  await assertRejects(() => ended, Error, "gone");
  assertEquals(slots.waiting, 1);
  release();
  (await next)();
  assertEquals([began, slots.waiting], [["c"], 0]);
});
