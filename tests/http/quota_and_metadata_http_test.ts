/** Methods of every route, and responses when the service is unavailable (42, 43). */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { failingRuns } from "../support/fakes/failing_runs.ts";
import { brokenCredentials } from "../support/fakes/broken_credentials.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const ID = runId(1);

/** Values for the names in paths; elsewhere a text that is no id serves as well. */
const NAMES: Readonly<Record<string, string>> = { "/v1/runs/": ID, "/v1/agents/": "nightly" };

/** A path of each route, and the methods of all routes that it fits. */
const ROUTES = [...new Set(ENDPOINTS.map(({ path }) => path))].map((path) => {
  const [beginning = ""] = path.split(":");
  const sent = path.replace(/:\w+/, NAMES[beginning] ?? "ops");
  const fitting = ENDPOINTS.filter((each) =>
    new RegExp(`^${each.path.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`).test(sent)
  );
  const methods = fitting.flatMap(({ method }) => method === "GET" ? ["GET", "HEAD"] : [method]);
  return { path: sent, methods: [...new Set(methods)] };
});
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

function allowed(sent: Answer): string[] {
  return (sent.headers.get("allow") ?? "").split(", ").sort();
}

Harness.test("decision 43: OPTIONS returns 204 and Allow on each path, without a credential", async (h) => {
  for (const { path, methods } of ROUTES) {
    for (const key of [null, h.key]) {
      const headers = { Origin: "https://example.com", "Access-Control-Request-Method": "POST" };
      const response = await h.request("OPTIONS", path, { key, headers });
      assertEquals([response.status, response.text], [204, ""], path);
      assertEquals(allowed(response), [...methods, "OPTIONS"].sort(), path);
      assert(
        ![...response.headers.keys()].some((name) => name.startsWith("access-control-")),
        path,
      );
    }
  }
});

Harness.test("decision 7: every other method is 405 with Allow on each path", async (h) => {
  const before = await h.dump();
  for (const { path, methods } of ROUTES) {
    for (const method of METHODS.filter((method) => !methods.includes(method))) {
      const answer = await h.request(method, path, { key: null });
      assertEquals(answer.status, 405, `${method} ${path}`);
      assertEquals(allowed(answer), [...methods, "OPTIONS"].sort(), path);
      if (method === "HEAD") assertEquals(answer.text, "");
      else if (path === "/v1/ping") assertMatch(answer.text, /^method_not_allowed .+\n$/);
      else assertEquals(answer.json.error, "method_not_allowed");
    }
  }
  assertEquals(await h.dump(), before);
});

/** Every call that may be answered with Retry-After. */
const CALLS: readonly (readonly [name: string, send: (h: Harness) => Promise<Answer>])[] = [
  ["POST /v1/runs", (h) => h.post("/v1/runs", aRun(1))],
  ["GET run", (h) => h.get(`/v1/runs/${ID}`)],
  ["POST events", (h) => h.post(`/v1/runs/${ID}/events`, { events: [anEvent(1)] })],
  ["POST finish", (h) => h.post(`/v1/runs/${ID}/finish`, aFinish())],
  ["POST heartbeat", (h) => h.post("/v1/heartbeats", aHeartbeat(1))],
  ["GET ping", (h) => h.get("/v1/ping?agent=cron")],
];

function codeOf(sent: Answer): string {
  const plain = sent.headers.get("content-type")?.startsWith("text/plain");
  return plain ? sent.text.split(" ")[0] ?? "" : sent.json.error;
}

for (const [name, send] of CALLS) {
  Harness.test(`decision 42: ${name} while shutting down is 503 with Retry-After 1 to 5`, async (h) => {
    const before = await h.dump();
    h.draining = true;
    const response = await send(h);
    assertEquals([response.status, codeOf(response)], [503, "shutting_down"]);
    assertMatch(response.headers.get("retry-after") ?? "", /^[1-5]$/);
    assertEquals(await h.dump(), before);
  });

  Deno.test(`decision 42: ${name} without the store is 503 with Retry-After 1 to 5`, async () => {
    const fault = new StorageUnavailable("disk on fire at /secret/path");
    await using h = await Harness.open({ deps: { runs: failingRuns(fault) } });
    const answer = await send(h);
    assertEquals([answer.status, codeOf(answer)], [503, "storage_unavailable"]);
    assertMatch(answer.headers.get("retry-after") ?? "", /^[1-5]$/);
    assert(!answer.text.includes("/secret/path"));
    assertEquals(await h.usage(), 0);
  });

  Deno.test(`decision 7: ${name} on an internal error is 500 without details`, async () => {
    await using h = await Harness.open({
      deps: { runs: failingRuns(new TypeError("inner secret")) },
    });
    const sent = await send(h);
    assertEquals([sent.status, codeOf(sent)], [500, "internal_error"]);
    assertEquals(sent.headers.get("retry-after"), null);
    assert(!sent.text.includes("inner secret"));
    assert(h.log.some((line) => line.includes("inner secret")), "the log does not say why");
  });
}

Deno.test("decision 42: without the store of credentials every call is 503", async () => {
  const fail = () => Promise.reject(new StorageUnavailable("no disk"));
  const credentials = brokenCredentials(fail);
  await using h = await Harness.open({ deps: { credentials } });
  for (const [name, send] of CALLS) {
    const response = await send(h);
    assertEquals([response.status, codeOf(response)], [503, "storage_unavailable"], name);
    assertMatch(response.headers.get("retry-after") ?? "", /^[1-5]$/);
  }
});

Deno.test("decision 42: a service that is not ready says so with Retry-After, and is live", async () => {
  await using h = await Harness.open({ deps: { ready: () => Promise.resolve(false) } });
  const codes: string[] = [];
  for (const draining of [false, true]) {
    h.draining = draining;
    const response = await h.get("/readyz", { key: null });
    assertEquals(response.status, 503);
    assertMatch(response.headers.get("retry-after") ?? "", /^[1-5]$/);
    codes.push(codeOf(response));
    assertEquals((await h.get("/healthz", { key: null })).status, 200);
  }
  assertEquals(codes, ["storage_unavailable", "shutting_down"]);
});

Harness.test("decision 42: the delays are spread, so that clients do not return together", async (h) => {
  h.draining = true;
  const waits = new Set<string | null>();
  // Sixty responses with five equally likely delays are all equal once in 5^59.
  for (let i = 0; i < 60; i++) {
    waits.add((await h.get("/v1/ping?agent=cron")).headers.get("retry-after"));
  }
  assert(waits.size > 1, `always ${[...waits]}`);
});
