/**
 * A request with two faults gets the error of the earlier check (decisions, section 2).
 *
 * Each test violates two adjacent checks together. Then it repairs the first, so that the
 * second answers: the request really was wrong in both.
 */
import { BODY_BYTES_MAX, EVENTS_BODY_BYTES_MAX } from "../../domain/core/limits.ts";
import { assert, assertEquals } from "@std/assert";
import { ask, head } from "../support/harness/raw_socket.ts";
import { aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, freeTeam, Harness, type RequestOptions } from "../support/harness/harness.ts";

type Refused = readonly [status: number, code: string];

function refusal({ status, headers, text }: Pick<Answer, "status" | "headers" | "text">): Refused {
  const json = headers.get("content-type")?.startsWith("application/json") ?? false;
  return [status, json ? JSON.parse(text).error : text.split(" ")[0] ?? ""];
}

/**
 * Sends raw head lines, which `fetch` cannot, and reads one response. An announced body is never
 * sent, so the response must not wait for it.
 */
async function raw(h: Harness, [line = "", ...headers]: readonly string[]): Promise<Refused> {
  const answer = await ask(h.url, head(line, ...headers));
  assert(answer !== null);
  return refusal({ ...answer, text: answer.body });
}

const BAD_HOST = "Host: example.com/v1/runs?x=";
const GOOD_HOST = "Host: example.com";
const EVENTS = `/v1/runs/${runId(1)}/events`;

Harness.test("section 2: host before route", async (h) => {
  for (const line of ["GET /v1/nowhere HTTP/1.1", "PUT /v1/runs HTTP/1.1"]) {
    assertEquals(await raw(h, [line, BAD_HOST]), [400, "invalid_field"]);
  }
  assertEquals(await raw(h, ["GET /v1/nowhere HTTP/1.1", GOOD_HOST]), [404, "not_found"]);
  assertEquals(await raw(h, ["PUT /v1/runs HTTP/1.1", GOOD_HOST]), [405, "method_not_allowed"]);
});

Harness.test("section 2: host before shutting down and credential", async (h) => {
  h.draining = true;
  assertEquals(await raw(h, ["GET /v1/ping HTTP/1.1", BAD_HOST]), [400, "invalid_field"]);
  assertEquals(await raw(h, ["GET /v1/ping HTTP/1.1", GOOD_HOST]), [503, "shutting_down"]);
});

Harness.test("section 2: route before shutting down", async (h) => {
  h.draining = true;
  assertEquals(refusal(await h.get("/v1/nowhere")), [404, "not_found"]);
  assertEquals(refusal(await h.request("PUT", "/v1/runs")), [405, "method_not_allowed"]);
  assertEquals(refusal(await h.post("/v1/runs", aRun(1))), [503, "shutting_down"]);
});

Harness.test("section 2: shutting down before credential", async (h) => {
  h.draining = true;
  const options = { key: null };
  assertEquals(refusal(await h.post("/v1/runs", aRun(1), options)), [503, "shutting_down"]);
  h.draining = false;
  assertEquals(refusal(await h.post("/v1/runs", aRun(1), options)), [401, "invalid_credential"]);
});

Harness.test("section 2: credential before body size, which is judged by the announced length", async (h) => {
  const lines = ["POST /v1/runs HTTP/1.1", GOOD_HOST, `Content-Length: ${BODY_BYTES_MAX + 1}`];
  assertEquals(await raw(h, lines), [401, "invalid_credential"]);
  const keyed = [...lines, `Authorization: Bearer ${h.key}`];
  assertEquals(await raw(h, keyed), [413, "payload_too_large"]);
});

Harness.test("section 2: every kind of refused credential before the body", async (h) => {
  const keys: readonly (readonly [string | null, Refused])[] = [
    [null, [401, "invalid_credential"]],
    [`apk_eu_${"0".repeat(32)}`, [401, "invalid_credential"]],
    [`apk_us_${"0".repeat(32)}`, [401, "region_mismatch"]],
    [await h.addKey({ kind: "ping_token", agent: "a" }), [401, "scope_violation"]],
    [await h.addKey({ kind: "api_key", scopes: ["read"] }), [403, "forbidden"]],
  ];
  for (const [key, expected] of keys) {
    assertEquals(refusal(await h.post("/v1/runs", "{not json", { key })), expected);
  }
  assertEquals(refusal(await h.post("/v1/runs", "{not json")), [400, "invalid_json"]);
});

/** A body one byte over the limit that begins with invalid UTF-8. */
function tooLarge(): Uint8Array {
  return new Uint8Array(EVENTS_BODY_BYTES_MAX + 1).fill(0xff);
}

Harness.test("section 2: body size before UTF-8, UTF-8 and JSON before the id in the path", async (h) => {
  const path = "/v1/runs/nonsense/events";
  assertEquals(refusal(await h.post(path, tooLarge())), [413, "payload_too_large"]);
  assertEquals(refusal(await h.post(path, tooLarge().slice(1))), [400, "invalid_json"]);
  assertEquals(refusal(await h.post(path, "{")), [400, "invalid_json"]);
  assertEquals(refusal(await h.post(path, "[]")), [400, "invalid_json"]);
  assertEquals(refusal(await h.post(path, "{}")), [400, "invalid_id"]);
});

Harness.test("section 2: the id in the path before the fields of the body", async (h) => {
  for (const call of ["events", "finish"]) {
    const other = runId(1, "xx");
    assertEquals(refusal(await h.post(`/v1/runs/nonsense/${call}`, {})), [400, "invalid_id"]);
    assertEquals(refusal(await h.post(`/v1/runs/${other}/${call}`, {})), [400, "unknown_region"]);
    const good = refusal(await h.post(`/v1/runs/${runId(1)}/${call}`, {}));
    assertEquals(good, [400, "missing_field"]);
  }
});

Harness.test("section 2: fields of an event in the order of the table, event by event", async (h) => {
  const good = { id: `evt_eu_${"1".repeat(32)}`, type: "log", ts: at(), data: {} };
  const body: Record<string, unknown> = { data: 1, ts: 1, type: 1, id: 1 };
  for (const [name, value] of Object.entries(good)) {
    const response = await h.post(EVENTS, { events: [body, { id: 1 }] });
    assertEquals([response.status, response.json.field], [400, name]);
    body[name] = value;
  }
  const second = await h.post(EVENTS, { events: [body, { id: 1 }] });
  assertEquals([second.json.field, second.json.message.includes("events[1].id")], ["id", true]);
});

Harness.test("section 2: fields before the id conflict", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const both = aRun(1, { agent: "other", metadata: 7 });
  assertEquals(refusal(await h.post("/v1/runs", both)), [400, "invalid_field"]);
  const conflict = aRun(1, { agent: "other" });
  assertEquals(refusal(await h.post("/v1/runs", conflict)), [409, "id_conflict"]);
});

Harness.test("section 2: a ping token's agent is part of the credential, before the fields", async (h) => {
  const options: RequestOptions = { key: await h.addKey({ kind: "ping_token", agent: "a" }) };
  const both = await h.post("/v1/heartbeats", { id: 7, agent: "b", status: 7 }, options);
  assertEquals(refusal(both), [401, "scope_violation"]);
  const field = await h.post("/v1/heartbeats", { id: 7, agent: "a", status: 7 }, options);
  assertEquals(refusal(field), [400, "invalid_id"]);
  const ping = await h.get("/v1/ping?agent=b&status=wrong", options);
  assertEquals(refusal(ping), [401, "scope_violation"]);
});

freeTeam.test("section 2: id conflict and replay before the agent cap", async (h) => {
  await h.post("/v1/runs", aRun(1, { agent: "a-0" }));
  await h.post("/v1/heartbeats", aHeartbeat(2, { agent: "a-0" }));
  const fill = Array.from(
    { length: 9 },
    (_, i) => h.post("/v1/heartbeats", { agent: `a-${i + 1}` }),
  );
  assertEquals((await Promise.all(fill)).every(({ status }) => status === 202), true);
  // A restarted service has an empty cache of agents.
  for (const restart of [false, true]) {
    if (restart) await h.restart();
    const before = await h.dump();
    const run = await h.post("/v1/runs", aRun(1, { agent: "new" }));
    assertEquals([...refusal(run), run.json.field], [409, "id_conflict", "agent"]);
    const beat = await h.post("/v1/heartbeats", aHeartbeat(2, { agent: "new" }));
    assertEquals(refusal(beat), [409, "id_conflict"]);
    assertEquals((await h.post("/v1/runs", aRun(1, { agent: "a-0" }))).status, 200);
    assertEquals((await h.post("/v1/heartbeats", aHeartbeat(2, { agent: "a-0" }))).status, 200);
    const capped = await h.post("/v1/runs", aRun(3, { agent: "new" }));
    assertEquals(refusal(capped), [403, "agent_cap_reached"]);
    assertEquals(await h.dump(), before);
  }
});
