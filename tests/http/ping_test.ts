/** `GET /v1/ping`: every parameter, and the response to an accepted ping (section 3). */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aHeartbeat, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, KEY, type RequestOptions } from "../support/harness/harness.ts";
import { failingRuns } from "../support/fakes/failing_runs.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { ask, AUTH, get } from "../support/harness/raw_socket.ts";

const JSON_WANTED = { headers: { Accept: "application/json" } };

function ping(h: Harness, query: string, options: RequestOptions = {}): Promise<Answer> {
  return h.get(`/v1/ping?${query}`, options);
}

/** The record of the run that a ping stored. */
async function recordOf(h: Harness, sent: Answer) {
  return (await h.get(`/v1/runs/${sent.headers.get("x-run-id")}`)).json;
}

Harness.test("section 3: a ping returns 200 OK in text, never cached, and names its run", async (h) => {
  const response = await ping(h, "agent=cron");
  assertEquals([response.status, response.text], [200, "OK\n"]);
  assertMatch(response.headers.get("content-type") ?? "", /^text\/plain/);
  assertEquals(response.headers.get("cache-control"), "no-store");
  assertMatch(response.headers.get("x-run-id") ?? "", /^run_eu_[0-9a-f]{12}7[0-9a-f]{19}$/);
  const run = await recordOf(h, response);
  assertEquals([run.kind, run.agent, run.status], ["heartbeat", "cron", "success"]);
  assertEquals([run.started_at, run.finished_at, run.duration_ms], [at(), at(), 0]);
  assertEquals([run.note, run.metadata, await h.usage()], [null, null, 1]);
});

Harness.test("section 3: with Accept application/json a ping returns its record", async (h) => {
  for (const accept of ["application/json", "application/json, text/plain;q=0.5"]) {
    const response = await ping(h, "agent=cron&status=fail", { headers: { Accept: accept } });
    assertMatch(response.headers.get("content-type") ?? "", /^application\/json/);
    const id = response.headers.get("x-run-id");
    assertEquals([response.status, response.json], [200, {
      id,
      agent: "cron",
      status: "fail",
      received_at: at(),
    }]);
    assertEquals(response.headers.get("cache-control"), "no-store");
    assertEquals((await recordOf(h, response)).status, "failed");
  }
});

Harness.test("section 3: every parameter of a ping reaches the record", async (h) => {
  const query = new URLSearchParams({
    agent: "nightly backup",
    status: "timeout",
    id: runId(7),
    cost_usd: "0.25",
    duration_ms: "1234",
    started_at: at(-9_000),
    finished_at: at(-1_000),
    model: "m/1",
    provider: "acme",
    input_tokens: "100",
    output_tokens: "20",
    cached_input_tokens: "30",
    metadata: "ü = 100 % & more",
    exit_code: "124",
    something_else: "ignored",
  });
  const response = await ping(h, query.toString());
  assertEquals([response.status, response.headers.get("x-run-id")], [200, runId(7)]);
  const run = await recordOf(h, response);
  assertEquals([run.agent, run.status, run.duration_ms], ["nightly backup", "timeout", 1234]);
  assertEquals([run.started_at, run.finished_at], [at(-9_000), at(-1_000)]);
  assertEquals([run.cost_usd, run.cost.unpriced_models], [0.25, []]);
  const { input_tokens, output_tokens, cached_input_tokens } = run.usage;
  assertEquals([input_tokens, output_tokens, cached_input_tokens], [100, 20, 30]);
  assertEquals([run.note, run.metadata], ["ü = 100 % & more", null]);
});

const EXITS: readonly (readonly [query: string, status: string])[] = [
  ["exit_code=0", "success"],
  ["exit_code=124", "timeout"],
  ["exit_code=1", "failed"],
  ["exit_code=2", "failed"],
  ["exit_code=125", "failed"],
  ["exit_code=137", "failed"],
  ["exit_code=255", "failed"],
  ["exit_code=-1", "failed"],
  ["status=ok&exit_code=0", "success"],
  ["status=fail&exit_code=124", "failed"],
  ["exit_code=1&status=timeout", "timeout"],
  ["status=&exit_code=1", "failed"],
];

Harness.test("section 3: the exit code is stored as the status, unless that is sent too", async (h) => {
  for (const [query, status] of EXITS) {
    const response = await ping(h, `agent=cron&${query}`);
    assertEquals(response.status, 200, query);
    assertEquals((await recordOf(h, response)).status, status, query);
  }
});

Harness.test("section 3: an empty value means absent, for every parameter", async (h) => {
  const names =
    "status id cost_usd duration_ms started_at finished_at model provider input_tokens " +
    "output_tokens cached_input_tokens metadata rid";
  const query = names.split(" ").map((name, i) => i % 2 === 0 ? `${name}=` : name).join("&");
  const response = await ping(h, `agent=cron&${query}&&=&=x`);
  assertEquals(response.status, 200);
  const run = await recordOf(h, response);
  assertEquals([run.status, run.cost_usd, run.note], ["success", 0, null]);
  const missing = await ping(h, "agent=");
  assertEquals([missing.status, missing.text.split(" ")[0]], [400, "missing_field"]);
});

Harness.test("section 3: of repeated names the first that has a value counts", async (h) => {
  const response = await ping(h, "agent=&agent=one&agent=two&status=fail", JSON_WANTED);
  assertEquals([response.status, response.json.agent, response.json.status], [200, "one", "fail"]);
});

Harness.test("section 3: names and values are percent-decoded, plus is a space", async (h) => {
  const query = "%61gent=na%C3%AFve+%F0%9F%A6%89%2B%26%3D&metadata=a=b=c";
  const response = await ping(h, query);
  assertEquals(response.status, 200);
  const run = await recordOf(h, response);
  assertEquals([run.agent, run.note], ["naïve 🦉+&=", "a=b=c"]);
});

for (const [tier, kept] of [["free", null], ["starter", null], ["team", "hi"]] as const) {
  Deno.test(`section 3: on ${tier} the note is ${kept === null ? "dropped" : "kept"}`, async () => {
    await using h = await Harness.open({ tier });
    const response = await ping(h, "agent=cron&metadata=hi");
    assertEquals((await recordOf(h, response)).note, kept);
    const dropped = kept === null ? "metadata=1" : null;
    assertEquals(response.headers.get("runledger-dropped"), dropped);
  });
}

Harness.test("section 3: a replay answers like the first write, and is marked as a replay", async (h) => {
  const query = `agent=cron&id=${runId(1)}`;
  const first = await ping(h, query, JSON_WANTED);
  h.nowMs += 60_000;
  const again = await ping(h, `${query}&status=fail&metadata=late`, JSON_WANTED);
  assertEquals([again.status, again.text], [200, first.text]);
  assertEquals(first.headers.get("idempotent-replayed"), null);
  assertEquals(again.headers.get("idempotent-replayed"), "true");
  assertEquals((await ping(h, query)).text, "OK\n");
  assertEquals(await h.usage(), 1);
});

Harness.test("section 3: a ping and a heartbeat are interchangeable", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start" }));
  assertEquals((await ping(h, `agent=nightly&id=${runId(1)}`)).status, 200);
  const late = await h.post("/v1/heartbeats", aHeartbeat(1, { status: "fail" }));
  assertEquals([late.status, late.json.status], [200, "ok"]);
});

Harness.test("section 3: a ping token needs no agent; naming its own is the same", async (h) => {
  const key = await h.addKey({ kind: "ping_token", agent: "cron" });
  for (const query of ["", "agent=", "agent=cron"]) {
    const response = await ping(h, query, { key, ...JSON_WANTED });
    assertEquals([response.status, response.json.agent], [200, "cron"]);
  }
  const bare = await h.get("/v1/ping", { key });
  assertEquals([bare.status, bare.text], [200, "OK\n"]);
  assertEquals(await h.usage(), 4);
});

/** Common form of every refusal on this path, with GET and with HEAD. */
function checkRefusal(sent: Answer, status: number, code: string, hasBody = true): void {
  assertEquals([sent.status, sent.headers.get("x-error-code")], [status, code]);
  assertEquals(sent.headers.get("cache-control"), "no-store");
  assertEquals(sent.headers.get("www-authenticate"), status === 401 ? "Bearer" : null);
  assertMatch(sent.headers.get("content-type") ?? "", /^text\/plain/);
  if (hasBody) {
    assertEquals(sent.text.split(" ")[0], code);
    assertMatch(sent.text, /^[a-z_]+ [^\n\r]{10,}\n$/);
  } else assertEquals(sent.text, "");
}

for (
  const [status, code, options] of [
    [503, "storage_unavailable", {
      deps: { runs: failingRuns(new StorageUnavailable("no disk")) },
    }],
    [500, "internal_error", { deps: { runs: failingRuns(new Error("a bug")) } }],
    [503, "shutting_down", { deps: { draining: () => true } }],
  ] as const
) {
  Deno.test(`section 3: ${code} on ping is ${status} in text, also for HEAD`, async () => {
    await using h = await Harness.open(options);
    for (const method of ["GET", "HEAD"]) {
      const response = await h.request(method, "/v1/ping?agent=cron");
      checkRefusal(response, status, code, method === "GET");
      assertEquals(/^[1-5]$/.test(response.headers.get("retry-after") ?? ""), status === 503);
    }
  });
}

Harness.test("decision 3: a broken parameter does not discard the key of the same query", async (h) => {
  const response = await h.get(`/v1/ping?key=${KEY}&agent=cron&metadata=100%`, { key: null });
  checkRefusal(response, 400, "invalid_field");
});

Harness.test("section 3: a URL of 60 KiB gets the line of text; a longer one is refused by the runtime", async (h) => {
  const before = await h.dump();
  for (const method of ["GET", "HEAD"]) {
    const long = await h.request(method, `/v1/ping?agent=${"x".repeat(60 * 1024)}`);
    checkRefusal(long, 400, "invalid_field", method === "GET");
  }
  const path = `/v1/ping?agent=${"x".repeat(66 * 1024)}`;
  const longer = await ask(h.url, get(path, "Host: x", AUTH, "Connection: close"));
  assertEquals([longer?.status, longer?.body, longer?.headers.get("content-type")], [
    400,
    "",
    null,
  ]);
  assertEquals(await h.dump(), before);
});

Harness.test("R24: an unknown parameter is named in the answer, on the run and its page, and is counted", async (h) => {
  const sent = await h.get("/v1/ping?agent=cron&exitcode=1");
  assertEquals([sent.status, sent.text], [200, "OK ignored exitcode, did you mean exit_code?\n"]);
  assertEquals(sent.headers.get("runledger-ignored"), "exitcode");
  const id = sent.headers.get("x-run-id");
  const run = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals([run.status, run.flags, run.ignored], ["success", ["ignored_fields"], ["exitcode"]]);

  const { counts, latest: [noted] } = (await h.get("/v1/refusals")).json;
  assertEquals(counts, [{ day: "2026-11-21", code: "ignored_parameter", count: 1 }]);
  const { code, field, agent, message } = noted;
  assertEquals([code, field, agent], ["ignored_parameter", "exitcode", "cron"]);
  assertEquals(message, "ignored exitcode, did you mean exit_code?");

  const json = await h.get("/v1/ping?agent=cron&exitcode=1&foo=&agent=b&&=&=x", {
    headers: { Accept: "application/json" },
  });
  assertEquals(json.json.ignored, ["exitcode", "foo", "(empty)"]);
  const head = await h.request("HEAD", "/v1/ping?agent=cron&exitcode=1");
  assertEquals([head.status, head.text], [200, ""]);
  assertEquals(head.headers.get("runledger-ignored"), "exitcode");
  const known = await h.get("/v1/ping?agent=cron&exit_code=0&rid=1&metadata=");
  assertEquals([known.text, known.headers.get("runledger-ignored")], ["OK\n", null]);
});

Harness.test("R24: an ignored parameter and a wrong monitor are one line each; values are never shown", async (h) => {
  const secret = `apk_eu_${"b".repeat(32)}`;
  const sent = await h.get(`/v1/ping?agent=cron&exitcode=hunter2&${secret}&every=1w`);
  const [first, second, ...others] = sent.text.split("\n");
  assertEquals(first, "OK ignored exitcode, did you mean exit_code? ignored (credential)");
  assertStringIncludes(second ?? "", "no monitor: every must be");
  assertEquals(others, [""]);
  const rows = JSON.stringify(await h.dump());
  assertEquals([rows.includes("hunter2"), rows.includes("b".repeat(32))], [false, false]);
});

Harness.test("R24: of many unknown parameters ten are named, each by 40 characters", async (h) => {
  const names = Array.from({ length: 30 }, (_, n) => `${n}${"x".repeat(60)}`);
  const sent = await h.get(`/v1/ping?agent=cron&${names.join("&")}`);
  const id = sent.headers.get("x-run-id");
  const { ignored } = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals(ignored, [...names.slice(0, 10).map((name) => name.slice(0, 40)), "(other)"].sort());
});
