/** Names that no path can contain are not stored: they could be neither read nor erased. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

Harness.test("agent names that no path can contain are refused on every call", async (h) => {
  const calls = { "/v1/runs": aRun(1), "/v1/heartbeats": aHeartbeat(1) };
  for (const [path, body] of Object.entries(calls)) {
    for (const agent of ["", ".", ".."]) {
      const { status, json } = await h.post(path, { ...body, agent });
      assertEquals([status, json.error, json.field], [400, "invalid_field", "agent"], agent);
      assertStringIncludes(json.message, '".."');
    }
  }
  for (const agent of [".", ".."]) {
    const ping = await h.get(`/v1/ping?agent=${agent}`);
    assertEquals([ping.status, ping.headers.get("x-error-code")], [400, "invalid_field"]);
    const token = await h.post("/v1/keys", { kind: "ping_token", name: "t", agent });
    assertEquals([token.status, token.json.field], [400, "agent"]);
  }
  // Absent is still absent, and dots among other characters are allowed.
  assertEquals((await h.post("/v1/runs", { ...aRun(2), customer_id: null })).status, 202);
  assertEquals((await h.post("/v1/runs", { ...aRun(3), customer_id: "..." })).status, 202);
  assertEquals((await h.get("/v1/ping?agent=a..b")).status, 200);
  assertEquals(await h.usage(), 3);
});

Harness.test("R8: a customer name that no path can contain is dropped and reported, and the call is stored", async (h) => {
  let n = 0;
  for (const [path, bodyOf] of [["/v1/runs", aRun], ["/v1/heartbeats", aHeartbeat]] as const) {
    for (const customer_id of ["", ".", ".."]) {
      const answer = await h.post(path, bodyOf(++n, { customer_id }));
      const actual = answer.headers.get("runledger-dropped");
      assertEquals([answer.status, actual], [202, "customer_id=1"], customer_id);
      const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
      assertEquals([run.customer_id, run.flags], [null, ["dropped_fields"]]);
    }
  }
});
