/** Changes that are retried after a conflict. */
import { assertEquals, assertRejects } from "@std/assert";
import { Deadlines } from "../../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { LOST, untilCommittedInTime } from "../../../kv/base/retry.ts";
import { FakeTimers } from "../../support/fakes/fake_timers.ts";

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
