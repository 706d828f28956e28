/** Methods of every route, and responses when the service is unavailable (42, 43). */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunStore } from "../../domain/runs/run_store.ts";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { brokenCredentials } from "../support/fakes/broken_credentials.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const ID = runId(1);

/** Every route of the contract: its path and methods. */
const ROUTES: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ["/v1/runs", ["GET", "HEAD", "POST"]],
  [`/v1/runs/${ID}`, ["GET", "HEAD", "DELETE"]],
  ["/v1/runs.ndjson", ["GET", "HEAD"]],
  ["/v1/runs.csv", ["GET", "HEAD"]],
  [`/v1/runs/${ID}/cost`, ["GET", "HEAD"]],
  [`/v1/runs/${ID}/events`, ["POST"]],
  [`/v1/runs/${ID}/finish`, ["POST"]],
  [`/v1/runs/${ID}/scores`, ["POST"]],
  ["/v1/heartbeats", ["POST"]],
  ["/v1/ping", ["GET", "HEAD"]],
  ["/v1/keys", ["GET", "HEAD", "POST"]],
  [`/v1/keys/key_eu_${"0".repeat(32)}`, ["DELETE"]],
  [`/v1/keys/key_eu_${"0".repeat(32)}/rotate`, ["POST"]],
  ["/v1/audit", ["GET", "HEAD"]],
  ["/v1/teams", ["GET", "HEAD", "POST"]],
  [`/v1/teams/${"0".repeat(26)}`, ["GET", "HEAD", "PATCH"]],
  [`/v1/teams/${"0".repeat(26)}/keys`, ["POST"]],
  ["/v1/rate-card", ["GET", "HEAD", "PUT"]],
  // A fixed path segment may also be read as a row's id, which DELETE accepts.
  ["/v1/rate-card/match", ["DELETE", "GET", "HEAD"]],
  [`/v1/rate-card/rate_${"0".repeat(26)}`, ["DELETE"]],
  ["/v1/rate-card/reprice", ["DELETE", "GET", "HEAD", "POST"]],
  [`/v1/rate-card/reprice/reprice_${"0".repeat(26)}`, ["GET", "HEAD"]],
  ["/v1/customers/acme", ["DELETE"]],
  [`/v1/deletions/${"0".repeat(26)}`, ["GET", "HEAD"]],
  ["/v1/agents", ["GET", "HEAD"]],
  ["/v1/agents/nightly", ["GET", "HEAD", "PATCH"]],
  ["/v1/agents/nightly/monitor", ["GET", "HEAD", "PUT", "DELETE"]],
  ["/v1/agents/nightly/monitor/pause", ["POST"]],
  ["/v1/agents/nightly/monitor/resume", ["POST"]],
  ["/v1/agents/nightly/flips", ["GET", "HEAD"]],
  ["/v1/monitors", ["GET", "HEAD"]],
  ["/v1/spend", ["GET", "HEAD"]],
  ["/v1/spend/unpriced", ["GET", "HEAD"]],
  ["/v1/usage", ["GET", "HEAD"]],
  ["/v1/me", ["GET", "HEAD"]],
  ["/v1/changes", ["GET", "HEAD"]],
  ["/v1/refusals", ["GET", "HEAD"]],
  ["/v1/live", ["GET", "HEAD"]],
  ["/v1/guard/check", ["GET", "HEAD", "POST"]],
  ["/v1/budgets", ["GET", "HEAD"]],
  ["/v1/budgets/ops", ["GET", "HEAD", "PUT", "DELETE"]],
  ["/v1/pauses", ["GET", "HEAD"]],
  ["/v1/pauses/ops", ["GET", "HEAD", "PUT", "DELETE"]],
  ["/v1/judges", ["GET", "HEAD"]],
  ["/v1/judges/ops", ["GET", "HEAD", "PUT", "DELETE"]],
  ["/v1/judges/try", ["GET", "HEAD", "PUT", "DELETE", "POST"]],
  ["/v1/rules", ["GET", "HEAD"]],
  ["/v1/rules/ops", ["GET", "HEAD", "PUT", "DELETE"]],
  ["/v1/silences", ["GET", "HEAD"]],
  ["/v1/silences/ops", ["GET", "HEAD", "PUT", "DELETE"]],
  ["/v1/checks", ["GET", "HEAD"]],
  ["/v1/checks/ops", ["GET", "HEAD", "PUT", "DELETE"]],
  // A check may have the slug "try".
  ["/v1/checks/try", ["GET", "HEAD", "PUT", "DELETE", "POST"]],
  ["/v1/checks/ops/stats", ["GET", "HEAD"]],
  ["/v1/channels", ["GET", "HEAD"]],
  ["/v1/channels/ops", ["GET", "HEAD", "PUT", "DELETE"]],
  ["/v1/channels/ops/rotate", ["POST"]],
  ["/v1/channels/ops/test", ["POST"]],
  ["/v1/incidents", ["GET", "HEAD"]],
  [`/v1/incidents/inc_eu_${"0".repeat(32)}`, ["GET", "HEAD"]],
  [`/v1/incidents/inc_eu_${"0".repeat(32)}/ack`, ["POST"]],
  [`/v1/incidents/inc_eu_${"0".repeat(32)}/resolve`, ["POST"]],
  ["/v1/deliveries", ["GET", "HEAD"]],
  [`/v1/deliveries/whd_eu_${"0".repeat(32)}`, ["GET", "HEAD"]],
  [`/v1/deliveries/whd_eu_${"0".repeat(32)}/resend`, ["POST"]],
  ["/metrics", ["GET", "HEAD"]],
  ["/healthz", ["GET", "HEAD"]],
  ["/readyz", ["GET", "HEAD"]],
  ["/openapi.json", ["GET", "HEAD"]],
  ["/docs", ["GET", "HEAD"]],
];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

Deno.test("decision 43: the table of routes here matches the service", () => {
  const patterns = ROUTES.map(([path]) =>
    path.replace(
      /(runs|keys|incidents|deliveries)\/[a-z]+_eu_[0-9a-f]+|(rate-card|reprice)\/[a-z]+_.+/,
      "$1$2/:id",
    )
      .replace(/(rules|silences|channels|checks|budgets|pauses|judges)\/ops/, "$1/:slug")
      .replace("agents/nightly", "agents/:slug")
      .replace("customers/acme", "customers/:customer_id")
      .replace(/(deletions|teams)\/0+/, "$1/:id")
  );
  // Building the table calls no dependency of the handlers.
  const served = ENDPOINTS.map(({ path }) => path);
  assertEquals(new Set(patterns), new Set(served));
});

function allowed(sent: Answer): string[] {
  return (sent.headers.get("allow") ?? "").split(", ").sort();
}

for (const [path, methods] of ROUTES) {
  Harness.test(`decision 43: OPTIONS ${path} returns 204 and Allow, without a credential`, async (h) => {
    for (const key of [null, h.key]) {
      const response = await h.request("OPTIONS", path, {
        key,
        headers: { Origin: "https://example.com", "Access-Control-Request-Method": "POST" },
      });
      assertEquals([response.status, response.text], [204, ""]);
      assertEquals(allowed(response), [...methods, "OPTIONS"].sort());
      const cors = [...response.headers.keys()].filter((name) =>
        name.startsWith("access-control-")
      );
      assertEquals(cors, []);
    }
  });

  Harness.test(`decision 7: every other method on ${path} is 405 with Allow`, async (h) => {
    const before = await h.dump();
    for (const method of METHODS.filter((method) => !methods.includes(method))) {
      const answer = await h.request(method, path, { key: null });
      assertEquals(answer.status, 405, method);
      assertEquals(allowed(answer), [...methods, "OPTIONS"].sort());
      if (method === "HEAD") assertEquals(answer.text, "");
      else if (path === "/v1/ping") assertMatch(answer.text, /^method_not_allowed .+\n$/);
      else assertEquals(answer.json.error, "method_not_allowed");
    }
    assertEquals(await h.dump(), before);
  });
}

Harness.test("decision 43: HEAD on ping is a ping, with X-Run-Id and no body", async (h) => {
  const response = await h.request("HEAD", "/v1/ping?agent=cron&status=fail");
  assertEquals([response.status, response.text, await h.usage()], [200, "", 1]);
  const run = (await h.get(`/v1/runs/${response.headers.get("x-run-id")}`)).json;
  assertEquals([run.agent, run.status], ["cron", "failed"]);
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
    await using h = await Harness.open({ deps: { runs: failing(fault) } });
    const answer = await send(h);
    assertEquals([answer.status, codeOf(answer)], [503, "storage_unavailable"]);
    assertMatch(answer.headers.get("retry-after") ?? "", /^[1-5]$/);
    assert(!answer.text.includes("/secret/path"));
    assertEquals(await h.usage(), 0);
  });

  Deno.test(`decision 7: ${name} on an internal error is 500 without details`, async () => {
    await using h = await Harness.open({ deps: { runs: failing(new TypeError("inner secret")) } });
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

/** A store of runs that rejects everything. */
function failing(error: Error): RunStore {
  const fail = () => Promise.reject(error);
  return { open: fail, append: fail, finish: fail, heartbeat: fail, ping: fail, find: fail };
}
