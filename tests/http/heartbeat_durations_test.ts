/** The start of a heartbeat that states its duration alone (R26). */
import { assertEquals } from "@std/assert";
import { aFinish, aRun, at, runId } from "../support/builders/requests.ts";
import { DERIVED_START_MS_MAX } from "../../domain/core/limits.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const HOURS_3_MS = 3 * 3_600_000;

async function runOf(h: Harness, n: number): Promise<Answer["json"]> {
  return (await h.getFinal(`/v1/runs/${runId(n)}`)).json;
}

Harness.test("R26: duration_ms without started_at sets the start: a long job counts for the day it began", async (h) => {
  h.nowMs = Date.UTC(2026, 10, 21, 0, 5);
  const beat = { agent: "nightly", duration_ms: HOURS_3_MS, cost_usd: 1 };
  const first = await h.post("/v1/heartbeats", { id: runId(1), ...beat });
  assertEquals([first.status, first.json.started_at], [202, "2026-11-20T21:05:00.000Z"]);
  await h.get(`/v1/ping?agent=nightly&id=${runId(2)}&duration_ms=${HOURS_3_MS}&exit_code=1`);
  const ended = "2026-11-20T22:00:00.000Z";
  await h.post("/v1/heartbeats", { id: runId(3), ...beat, finished_at: ended });
  const starts = await Promise.all([1, 2, 3].map((n) => runOf(h, n)));
  assertEquals(starts.map(({ started_at }) => started_at), [
    "2026-11-20T21:05:00.000Z",
    "2026-11-20T21:05:00.000Z",
    "2026-11-20T19:00:00.000Z",
  ]);
  assertEquals(starts.map(({ clock_skew_ms }) => clock_skew_ms ?? null), [null, null, -7_500_000]);
  const { groups } = (await h.get("/v1/spend?from=2026-11-20&to=2026-11-21&group_by=day")).json;
  assertEquals(groups.map((day: Answer["json"]) => day.runs), [3, 0]);
});

Harness.test("R26, decision 24: a retry without started_at is a replay, whenever it arrives", async (h) => {
  const beat = { id: runId(1), agent: "nightly", duration_ms: HOURS_3_MS };
  const first = await h.post("/v1/heartbeats", beat);
  h.nowMs += 60_000;
  for (
    const fields of [{}, { duration_ms: 1 }, { status: "start" }, { started_at: at(-HOURS_3_MS) }]
  ) {
    const again = await h.post("/v1/heartbeats", { ...beat, ...fields });
    assertEquals([again.status, again.text], [200, first.text], JSON.stringify(fields));
  }
  const other = await h.post("/v1/heartbeats", { ...beat, started_at: at() });
  assertEquals([other.status, other.json.field], [409, "started_at"]);
});

Harness.test("R26: a start that is known wins over the duration, and so does the arrival over one of more than 31 days", async (h) => {
  const beat = { agent: "nightly", duration_ms: HOURS_3_MS };
  await h.post("/v1/heartbeats", { id: runId(1), ...beat, status: "start" });
  await h.post("/v1/runs", aRun(2, { agent: "nightly" }));
  await h.post("/v1/heartbeats", { id: runId(3), ...beat });
  assertEquals((await h.post("/v1/runs", aRun(3, { agent: "nightly" }))).status, 409);
  await h.post(`/v1/runs/${runId(4)}/finish`, aFinish());
  h.nowMs += 60_000;
  for (const n of [1, 2, 4]) await h.post("/v1/heartbeats", { id: runId(n), ...beat });
  const longest = DERIVED_START_MS_MAX;
  await h.post("/v1/heartbeats", { id: runId(5), ...beat, duration_ms: longest });
  await h.post("/v1/heartbeats", { id: runId(6), ...beat, duration_ms: longest + 1 });
  await h.get(`/v1/ping?agent=nightly&id=${runId(7)}&duration_ms=${HOURS_3_MS * 1e6}`);
  const runs = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((n) => runOf(h, n)));
  const late = at(60_000 - HOURS_3_MS);
  assertEquals(
    runs.map(({ started_at }) => started_at),
    [
      ...[at(), aRun(2).started_at, at(-HOURS_3_MS), late],
      ...[at(60_000 - longest), at(60_000), at(60_000)],
    ],
  );
  assertEquals(runs[3].clock_skew_ms, undefined);
});
