import { assert, assertEquals, assertRejects } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { inTime } from "../../../kv/base/retry.ts";

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
