import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { judgeId } from "../../../domain/core/ids.ts";
import { EVENTS_PER_BATCH_MAX, WHOLE_BODY_BYTES_MAX } from "../../../domain/core/limits.ts";
import { DAY_MS, parseInstant } from "../../../domain/core/time.ts";
import { SAMPLE_DAYS, sampleMonth } from "../../../tools/demo/month.ts";
import type { SampleCall } from "../../../tools/demo/sample_run.ts";
import { NOON } from "../../support/harness/harness.ts";

const month = (seed = 1, nowMs = NOON, region: "eu" | "us" = "eu") =>
  sampleMonth(seed, nowMs, region, "http://127.0.0.1:1");

// deno-lint-ignore no-explicit-any -- bodies of several calls
const bodyOf = ({ body }: SampleCall): any => body;

const eventsOf = (calls: readonly SampleCall[]) =>
  calls.flatMap((call) => bodyOf(call).events ?? []);

Deno.test("samples: the same seed and instant give the same requests, byte for byte", () => {
  const first = JSON.stringify(month());
  assertEquals(JSON.stringify(month()), first);
  assertNotEquals(JSON.stringify(month(2)), first);
});

Deno.test("samples: at any time of day they are of the last thirty days, in order, and valid", () => {
  for (let minute = 0; minute < 24 * 60; minute += 97) {
    const nowMs = NOON + minute * 60_000;
    const calls = month(1, nowMs);
    const times = calls.map(({ atMs }) => atMs);
    assertEquals(times, times.toSorted((a, b) => a - b));
    assert(times[0]! >= nowMs - SAMPLE_DAYS * DAY_MS && times.at(-1)! <= nowMs, `${minute}`);
    for (const { ts } of eventsOf(calls)) assert(parseInstant(ts)! <= nowMs, `${minute}`);
    const newest = calls.filter(({ atMs }) => atMs > nowMs - 3_600_000);
    const failed = newest.filter((call) => bodyOf(call).status === "failed");
    // Three tickets, and of each the refund and its posting.
    assertEquals(failed.length, 9, `${minute}`);
  }
});

Deno.test("samples: every id is valid and unique, in the requested region, and every body fits", () => {
  for (const region of ["eu", "us"] as const) {
    const calls = month(1, NOON, region);
    const runs = calls.filter((call) => bodyOf(call).agent !== undefined).map((call) =>
      bodyOf(call).id
    );
    const events = eventsOf(calls).map(({ id }) => id);
    assert(runs.length > 500 && events.length > 500);
    assert(runs.every((id) => judgeId("run", id) === "valid" && id.includes(`_${region}_`)));
    assert(events.every((id) => judgeId("evt", id) === "valid" && id.includes(`_${region}_`)));
    assertEquals(new Set([...runs, ...events]).size, runs.length + events.length);
    for (const call of calls) {
      assert((bodyOf(call).events?.length ?? 1) <= EVENTS_PER_BATCH_MAX);
      assert(JSON.stringify(call.body).length < WHOLE_BODY_BYTES_MAX);
    }
  }
});
