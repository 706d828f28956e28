/** Parameters of the control API: an unknown one and one without a value are refused (R11, R20). */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { queryNamesOf } from "../../routes/app.ts";
import { aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const OPERATOR_KEY = `opk_eu_${"0".repeat(31)}1`;

/** Calls that refuse unknown names. */
const CALLS = ENDPOINTS.filter((route) => queryNamesOf(route) !== null);

/** A path that matches a route, and its credential. */
function addressOf({ path, access }: (typeof CALLS)[number]) {
  const url = path.replace(":id", runId(1)).replace(":slug", "researcher");
  return { requested: url, options: access?.scope === null ? { key: OPERATOR_KEY } : {} };
}

Deno.test("R11: each call accepts exactly the parameters that the document lists", () => {
  for (const route of ENDPOINTS) {
    const declared = Object.keys(route.query ?? {}).sort();
    const names = queryNamesOf(route);
    if (names !== null) assertEquals(names.toSorted(), declared, `${route.method} ${route.path}`);
    else {assert(
        declared.length === 0 || route.path === "/v1/ping",
        `${route.method} ${route.path}`,
      );}
  }
});

Deno.test("R11: every control call refuses an unknown parameter", async () => {
  await using h = await Harness.open({ operatorKey: OPERATOR_KEY });
  for (const route of CALLS) {
    const { requested, options } = addressOf(route);
    const sent = route.method === "GET" ? options : { ...options, body: {} };
    const { status, json } = await h.request(route.method, `${requested}?nonsense=1`, sent);
    assertEquals([status, json.error, json.field], [400, "invalid_field", "nonsense"], requested);
  }
});

Deno.test("R20: every read refuses a parameter without a value", async () => {
  await using h = await Harness.open({ operatorKey: OPERATOR_KEY });
  for (const route of CALLS) {
    const { requested, options } = addressOf(route);
    for (const name of queryNamesOf(route) ?? []) {
      for (const input of [name, `${name}=`]) {
        const { status, json } = await h.get(`${requested}?${input}`, options);
        assertEquals([status, json.error, json.field], [400, "invalid_field", name], requested);
        assertStringIncludes(json.message, "add one or leave the parameter out");
      }
    }
  }
});

Harness.test("R11: the refusal names the nearest parameter, and all known ones", async (h) => {
  const cases = [
    ["/v1/runs?statuss=failed", "statuss", 'Did you mean "status"?'],
    ["/v1/runs?customer=acme", "customer", 'Did you mean "customer_id"?'],
    ["/v1/spend?GROUP_BY=agent", "GROUP_BY", 'Did you mean "group_by"?'],
    ["/v1/usage?mnoth=2026-11", "mnoth", 'Did you mean "month"?'],
    ["/v1/usage?%D1%8F=1", "я", "Known: month"],
    ["/v1/rate-card/reprice?limit=1", "limit", "This call takes none"],
  ] as const;
  for (const [path, field, hint] of cases) {
    const { status, json } = await h.get(path);
    assertEquals([status, json.field], [400, field], path);
    assertStringIncludes(json.message, hint);
  }
  const long = "statuss".repeat(1_000);
  const { json } = await h.get(`/v1/runs?${long}=1`);
  assertEquals(json.field, long.slice(0, 64));
  assert(json.message.length < 500, json.message);
});

Harness.test("R11: the first invalid parameter is named, whatever precedes it", async (h) => {
  const { json } = await h.get("/v1/runs?limit=5&&status=&agnet=x");
  assertEquals(json.field, "status");
  assertEquals((await h.get("/v1/runs?limit=5&")).status, 200);
  assertEquals((await h.get("/v1/runs?")).status, 200);
  assertEquals((await h.get("/v1/runs?%ZZ=1")).status, 400);
  assertEquals((await h.request("HEAD", "/v1/runs?agnet=x")).status, 400);
});

Harness.test("R11: the credential is checked before the query", async (h) => {
  const ingest = await h.addKey({ kind: "api_key", scopes: ["ingest"] });
  assertEquals((await h.get("/v1/runs?agnet=x", { key: null })).status, 401);
  assertEquals((await h.get("/v1/runs?agnet=x", { key: ingest })).status, 403);
  // A key in the query is a credential only on pings, and is not a filter either.
  assertEquals((await h.get(`/v1/runs?key=${h.key}`, { key: null })).status, 401);
  assertEquals((await h.get(`/v1/runs?key=${h.key}`)).status, 200);
});

Harness.test("R11: ingest calls and probes accept any parameter", async (h) => {
  assertEquals((await h.get("/v1/ping?agent=a&exit_code=0&nonsense=1&model=")).status, 200);
  assertEquals((await h.post("/v1/runs?nonsense=1", aRun(1))).status, 202);
  for (const path of ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"]) {
    assertEquals((await h.get(`${path}?nonsense=1&empty=`)).status, 200, path);
  }
});

Harness.test("R11: a refused query does not wait", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const wrong = [
    "events_limit=0",
    "events_limit=1001",
    "events_cursor=nonsense",
    "events_limt=5",
    "events_cursor=",
    "timeout=61",
  ];
  for (const query of wrong) {
    const began = performance.now();
    const url = `/v1/runs/${runId(1)}?wait=final&${query}`;
    const { status } = await h.get(query.startsWith("timeout") ? url : `${url}&timeout=60`);
    assertEquals(status, 400, query);
    assert(performance.now() - began < 10_000, query);
  }
  for (const query of ["limit=0", "after=nonsense", "waits=3", "after="]) {
    assertEquals((await h.get(`/v1/changes?wait=30&${query}`)).status, 400, query);
  }
});
