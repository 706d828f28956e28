/** A stored finish answers every further one, whatever its object says (R35). */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}/finish`;

/** Objects that no first finish may be, and the errors that a first one gets. */
const INVALID: readonly (readonly [Record<string, unknown>, error: string])[] = [
  [{}, "missing_field"],
  [{ status: "bogus" }, "invalid_field"],
  [{ status: "success" }, "missing_field"],
  [{ ...aFinish(), finished_at: "yesterday" }, "invalid_field"],
  [{ ...aFinish(), status: 7 }, "invalid_field"],
];

Harness.test("R35: after a finish each object is 200 with the record of the first", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const first = await h.post(PATH, aFinish({ output: { answer: 42 }, scores: { quality: 1 } }));
  assertEquals(first.status, 202);
  await h.worker.idle();
  const stored = await h.dump();
  h.nowMs += 1_000;
  for (const [body] of [...INVALID, [aFinish({ status: "failed" })] as const]) {
    const { status, text, headers } = await h.post(PATH, body);
    assertEquals([status, text, headers.get("idempotent-replayed")], [200, first.text, "true"]);
  }
  for (const body of ["{", "[]", "null", `"success"`]) {
    const { status, json } = await h.request("POST", PATH, { body });
    assertEquals([status, json.error], [400, "invalid_json"], body);
  }
  assertEquals(await h.dump(), stored);
  assertEquals(await h.usage(), 2);
});

Harness.test("R35: so it is for a finish before the opening and for the close of a heartbeat", async (h) => {
  const first = await h.post(PATH, aFinish({ status: "cancelled" }));
  assertEquals((await h.post(PATH, {})).text, first.text);
  const other = `/v1/runs/${runId(2)}/finish`;
  await h.post("/v1/heartbeats", aHeartbeat(2, { status: "timeout" }));
  const { status, json } = await h.post(other, { status: "bogus" });
  assertEquals([status, json.status], [200, "timeout"]);
});

Harness.test("R35: without a finish the object is checked, also of a run that was idle", async (h) => {
  const assertRefused = async () => {
    for (const [body, error] of INVALID) {
      const { status, json } = await h.post(PATH, body);
      assertEquals([status, json.error], [400, error]);
    }
  };
  await assertRefused();
  await h.post("/v1/runs", aRun(1, { idle_timeout_seconds: 60 }));
  await assertRefused();
  h.nowMs += 600_000;
  await h.work.idle();
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.closed_by, "idle");
  await assertRefused();
  assertEquals((await h.post(PATH, aFinish())).status, 202);
});
