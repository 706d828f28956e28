import { assert, assertEquals, assertRejects } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { inTime, LOST, untilCommittedInTime } from "../../../kv/base/retry.ts";
import { FakeTimers } from "../../support/fakes/fake_timers.ts";

Deno.test("a deadline passes on the result or failure of the work", async () => {
  using deadlines = new Deadlines(1_000, TIMERS);
  assertEquals(await inTime(Promise.resolve(7), deadlines), 7);
  await assertRejects(
    () => inTime(Promise.reject(new RangeError("own")), deadlines),
    RangeError,
    "own",
  );
});

Deno.test("work that takes too long is unavailable, and its late failure is ignored", async () => {
  using deadlines = new Deadlines(1, TIMERS);
  const { promise, reject } = Promise.withResolvers<never>();
  await assertRejects(() => inTime(promise, deadlines), StorageUnavailable, "in time");
  let unhandled = 0;
  const count = (event: Event) => {
    event.preventDefault();
    unhandled++;
  };
  globalThis.addEventListener("unhandledrejection", count);
  reject(new Error("late"));
  // The runtime reports an unhandled rejection before the next task.
  await new Promise((resolve) => setTimeout(resolve, 0));
  globalThis.removeEventListener("unhandledrejection", count);
  assertEquals(unhandled, 0);
});

Deno.test("the deadline ends the waiting, not the work", async () => {
  using deadlines = new Deadlines(1, TIMERS);
  const { promise, resolve } = Promise.withResolvers<void>();
  let stored = false;
  const work = promise.then(() => {
    stored = true;
  });
  await assertRejects(() => inTime(work, deadlines), StorageUnavailable);
  resolve();
  await work;
  assert(stored);
});

const DEADLINE_MS = 100;

Deno.test("retry: a change is tried again until it does not conflict", async () => {
  using deadlines = new Deadlines(DEADLINE_MS, new FakeTimers());
  const outcomes = [LOST, LOST, "stored"] as const;
  let attempts = 0;
  const attempt = () => Promise.resolve(outcomes[attempts++]!);
  assertEquals(await untilCommittedInTime("change it", deadlines, attempt), "stored");
  assertEquals(attempts, outcomes.length);
});

Deno.test("retry: no attempt begins after its caller was answered", async () => {
  const timers = new FakeTimers();
  using deadlines = new Deadlines(DEADLINE_MS, timers);
  let attempts = 0;
  const change = untilCommittedInTime("change it", deadlines, () => {
    attempts++;
    timers.advance(DEADLINE_MS);
    return Promise.resolve(LOST);
  });
  await assertRejects(
    () => change,
    StorageUnavailable,
    "Cannot change it: the store took too long",
  );
  assertEquals(attempts, 1);
});
