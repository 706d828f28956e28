/** `GET /v1/me`, and what an unknown path is answered with. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Harness } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";

operator.test("GET /v1/me names the team, the plan and the credential of the request", async (h) => {
  const reader = (await h.post("/v1/keys", { kind: "api_key", name: "reader", scopes: ["read"] }))
    .json;
  const token = (await h.post("/v1/keys", { kind: "ping_token", name: "host", agent: "nightly" }))
    .json;
  for (const { secret, ...created } of [reader, token]) {
    const { status, json } = await h.get("/v1/me", { key: secret });
    const { last_used_at, ...key } = json.key;
    assertEquals([status, key], [200, created]);
    assertMatch(last_used_at, /Z$/);
    assertEquals([json.region, json.team], ["eu", {
      id: h.team.id,
      name: h.team.name,
      tier: h.team.tier,
    }]);
  }
  await h.request("DELETE", `/v1/keys/${reader.id}`);
  for (const key of [null, reader.secret, `apk_eu_${"9".repeat(32)}`]) {
    const { status, json } = await h.get("/v1/me", { key });
    assertEquals([status, json.error], [401, "invalid_credential"]);
  }
  assertEquals((await h.get("/v1/me", { key: OPERATOR_KEY })).status, 403);
  assertEquals((await h.get("/v1/me?team=x")).status, 400);
});

Harness.test("an unknown path is 404 and says what may have been meant", async (h) => {
  for (
    const [path, hint] of [
      ["/v1/runs/", "No such path: leave out the slash at its end"],
      ["/v1/runs/abc/", "No such path: leave out the slash at its end"],
      ["/health", "No such path: did you mean /healthz? /docs lists all calls"],
      ["/v1/run", "No such path: did you mean /v1/runs? /docs lists all calls"],
      ["/v1/run/abc/event", "No such path: did you mean /v1/runs/{id}/events? /docs lists all"],
      ["/api/v1/whatever/this/is", "No such path: /docs lists all calls"],
      [`/${"x".repeat(5_000)}`, "No such path: /docs lists all calls"],
    ] as const
  ) {
    const { status, json } = await h.get(path);
    assertEquals([status, json.error], [404, "not_found"], path);
    assertStringIncludes(json.message, hint);
  }
  assertEquals((await h.get("/docs")).status, 200);
});
