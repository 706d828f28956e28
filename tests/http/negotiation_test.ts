/** Response metadata: length, tags, content negotiation and allowed methods. */
import { assert, assertEquals } from "@std/assert";
import { Deadlines, TIMERS } from "../../runtime/deadlines.ts";
import { prefersJson } from "../../routes/http/compress.ts";
import { aRun, runId } from "../support/builders/requests.ts";
import { Harness, KEY } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import { ask, head, RawSocket } from "../support/harness/raw_socket.ts";

const CREDENTIAL = `Authorization: Bearer ${KEY}`;

/** A response without its body, as sent on the wire. */
async function headOf(h: Harness, path: string, ...headers: string[]) {
  using socket = await RawSocket.open(h.url);
  await socket.send(head(`HEAD ${path} HTTP/1.1`, "Host: x", CREDENTIAL, ...headers));
  const answer = await socket.answer(true);
  assert(answer !== null);
  return answer;
}

Harness.test("HEAD announces the same length as GET, plain and compressed", async (h) => {
  await h.post("/v1/runs", aRun(1, { goal: "a page of text ".repeat(3_000) }));
  const run = `/v1/runs/${runId(1)}`;
  const paths = [run, "/healthz", "/openapi.json", "/v1/runs/x", "/v1/none", "/dashboard/sign-in"];
  for (const path of paths) {
    for (const coding of ["identity", "gzip"]) {
      using socket = await RawSocket.open(h.url);
      const accepts = `Accept-Encoding: ${coding}`;
      await socket.send(head(`GET ${path} HTTP/1.1`, "Host: x", CREDENTIAL, accepts));
      const length = (await socket.answer())?.headers.get("content-length") ?? null;
      const bodiless = await headOf(h, path, accepts);
      assert(length !== null && length !== "0", path);
      assertEquals(bodiless.headers.get("content-length"), length, `${path} ${coding}`);
    }
  }
});

Harness.test("HEAD of a stream announces no length", async (h) => {
  for (const path of ["/v1/runs.ndjson", "/v1/runs.csv", "/v1/live"]) {
    const { status, headers } = await headOf(h, path);
    assertEquals([status, headers.get("content-length")], [200, null], path);
  }
});

Harness.test("a record has one tag per client, on 200 and on 304, small or large", async (h) => {
  await h.post("/v1/runs", aRun(1, { goal: "a page of text ".repeat(300) }));
  for (const path of ["/v1/usage", `/v1/runs/${runId(1)}`]) {
    for (const [coding, isWeak] of [["identity", false], ["gzip", true]] as const) {
      const accepts = `Accept-Encoding: ${coding}`;
      const first = await headOf(h, path, accepts);
      const tag = first.headers.get("etag") ?? "";
      assertEquals(tag.startsWith("W/"), isWeak, path);
      const again = await headOf(h, path, accepts, `If-None-Match: ${tag}`);
      assertEquals([again.status, again.headers.get("etag")], [304, tag]);
      assertEquals(again.headers.get("vary"), first.headers.get("vary"));
    }
  }
});

Harness.test("a ping responds in JSON if the client prefers it", async (h) => {
  const cases: [string, string][] = [
    ["application/json", "application/json"],
    ["Application/JSON", "application/json"],
    ["application/json, text/plain, */*", "application/json"],
    ["application/*", "application/json"],
    ["text/plain;q=0.5, application/json;q=0.8", "application/json"],
    ["application/json;q=0, text/plain", "text/plain"],
    ["application/json;q=0.3, text/plain;q=0.4", "text/plain"],
    ["application/json;q=0.5, */*", "text/plain"],
    ["*/*", "text/plain"],
    ["application/jsonlines", "text/plain"],
    ["text/html", "text/plain"],
  ];
  for (const [accept, type] of cases) {
    const { headers } = await h.get("/v1/ping?agent=a", { headers: { Accept: accept } });
    assertEquals(headers.get("content-type")?.split(";")[0], type, accept);
  }
  assert(!prefersJson(null) && !prefersJson("") && !prefersJson("application/json;q=x"));
});

Harness.test("only health checks are answered without a Host", async (h) => {
  for (const [path, status] of [["/healthz", 200], ["/readyz", 200], ["/docs", 400]] as const) {
    const answer = await ask(h.url, head(`GET ${path} HTTP/1.0`));
    assertEquals(answer?.status, status, path);
  }
  const wrong = await ask(h.url, head("GET /healthz HTTP/1.1", "Host: x/admin?y="));
  assertEquals(wrong?.status, 400);
});

Deno.test("a body that misses its deadline closes its connection, and says so once", async () => {
  using bodyDeadlines = new Deadlines(50, TIMERS);
  await using h = await Harness.open({ deps: { bodyDeadlines } });
  const bodies = [
    ["Content-Length: 9", ""],
    ["Content-Length: 9", "{"],
    ["Content-Length: 90000", ""],
    ["Content-Length: 90000", "{"],
    ["Transfer-Encoding: chunked", ""],
    ["Transfer-Encoding: chunked", "1\r\n{\r\n"],
  ];
  for (const [length = "", begun = ""] of bodies) {
    using socket = await RawSocket.open(h.url);
    await socket.send(head("POST /v1/runs HTTP/1.1", "Host: x", CREDENTIAL, length) + begun);
    const answer = await socket.answer();
    assertEquals([answer?.status, answer?.headers.get("connection")], [408, "close"], length);
  }
});

operator.test("a path that is not UTF-8 is 400 everywhere, after the credential", async (h) => {
  const paths = [
    ...["GET /v1/agents/%ff", "PATCH /v1/agents/%ff", "DELETE /v1/keys/%ff"],
    ...["POST /v1/keys/%ff/rotate", "DELETE /v1/rate-card/%ff", "GET /v1/rate-card/reprice/%ff"],
    ...["DELETE /v1/customers/%ff", "GET /v1/deletions/%ff", "GET /v1/runs/%ff"],
    ...["GET /v1/teams/%ff", "PATCH /v1/teams/%ff", "POST /v1/teams/%ff/keys"],
  ];
  for (const each of paths) {
    const [method = "", path = ""] = each.split(" ");
    const key = path.startsWith("/v1/teams") ? OPERATOR_KEY : h.key;
    const body = method === "POST" || method === "PATCH" ? { body: {} } : {};
    const { status, json } = await h.request(method, path, { key, ...body });
    const expected = path.startsWith("/v1/runs") ? "invalid_id" : "invalid_field";
    assertEquals([status, json.error, json.field !== undefined], [400, expected, true], each);
    assertEquals((await h.request(method, path, { key: null, ...body })).status, 401, each);
  }
});

Harness.test("a parameter whose name is not UTF-8 is named as sent", async (h) => {
  const { status, json } = await h.get("/v1/runs?%ffagent=a");
  assertEquals([status, json.error, json.field], [400, "invalid_field", "%ffagent"]);
});

Harness.test("only rotating a credential accepts an empty body", async (h) => {
  const created = await h.post("/v1/keys", { kind: "ping_token", name: "host", agent: "a" });
  const rotated = await h.request("POST", `/v1/keys/${created.json.id}/rotate`);
  assertEquals([rotated.status, rotated.json.replaces], [201, created.json.id]);
  const other = await h.request("POST", "/v1/keys");
  assertEquals([other.status, other.json.error], [400, "invalid_json"]);
});
