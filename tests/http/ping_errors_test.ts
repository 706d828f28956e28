/** Refusals of `/v1/ping`: one line of text, its first word the code (section 3). */
import { assertEquals, assertMatch } from "@std/assert";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunStore } from "../../domain/runs/store.ts";
import { at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, type HarnessOptions, KEY } from "../support/harness/harness.ts";
import { ask, AUTH, get } from "../support/harness/raw_socket.ts";

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

/** Asserts that a query is refused the same with GET and HEAD, and that nothing is stored. */
async function refuse(
  query: string,
  status: number,
  code: string,
  key: (h: Harness) => Promise<string | null> = () => Promise.resolve(KEY),
): Promise<void> {
  await using h = await Harness.open();
  const credential = await key(h);
  const before = await h.dump();
  for (const method of ["GET", "HEAD"]) {
    const response = await h.request(method, `/v1/ping?${query}`, { key: credential });
    checkRefusal(response, status, code, method === "GET");
  }
  assertEquals(await h.dump(), before);
}

const QUERIES: readonly (readonly [query: string, code: string])[] = [
  ["", "missing_field"],
  ["status=ok", "missing_field"],
  ["agent=%20cron", "invalid_field"],
  ["agent=a%0Ab", "invalid_field"],
  [`agent=${"x".repeat(129)}`, "invalid_field"],
  ["agent=cron&status=success", "invalid_field"],
  ["agent=cron&status=failed", "invalid_field"],
  ["agent=cron&id=run_eu_1", "invalid_id"],
  [`agent=cron&id=${runId(1).toUpperCase()}`, "invalid_id"],
  [`agent=cron&id=${runId(1, "xx")}`, "unknown_region"],
  ["agent=cron&exit_code=abc", "invalid_field"],
  ["agent=cron&exit_code=1.5", "invalid_field"],
  ["agent=cron&exit_code=", "invalid_field"],
  ["agent=cron&exit_code", "invalid_field"],
  ["agent=cron&exit_code=&exit_code=1", "invalid_field"],
  ["agent=cron&exit_code=%201", "invalid_field"],
  ["agent=cron&exit_code=0&exit_code=1", "invalid_field"],
  ["agent=cron&exit_code=0&exit%5Fcode=1", "invalid_field"],
  ["agent=cron&status=ok&status=fail", "invalid_field"],
  ["agent=cron&status=ok&exit_code=1", "invalid_field"],
  ["agent=cron&status=fail&exit_code=0", "invalid_field"],
  ["agent=cron&status=start&exit_code=0", "invalid_field"],
  ["agent=cron&status=ok&exit_code=", "invalid_field"],
  ["agent=cron&status=start&exit_code=x", "invalid_field"],
  [`agent=cron&rid=${"x".repeat(65)}`, "invalid_field"],
  ["agent=cron&rid=a%00b", "invalid_field"],
  ["agent=cron&cost_usd=free", "invalid_field"],
  ["agent=cron&cost_usd=-1", "invalid_field"],
  ["agent=cron&cost_usd=1000001", "invalid_field"],
  ["agent=cron&cost_usd=0x10", "invalid_field"],
  ["agent=cron&cost_usd=Infinity", "invalid_field"],
  ["agent=cron&duration_ms=1.5", "invalid_field"],
  ["agent=cron&duration_ms=9007199254740992", "invalid_field"],
  ["agent=cron&input_tokens=-1", "invalid_field"],
  ["agent=cron&output_tokens=many", "invalid_field"],
  ["agent=cron&cached_input_tokens=%20", "invalid_field"],
  ["agent=cron&started_at=yesterday", "invalid_field"],
  ["agent=cron&finished_at=2026-02-30T00:00:00Z", "invalid_field"],
  ["agent=%zz", "invalid_field"],
  ["agent=cron&metadata=100%", "invalid_field"],
  ["agent=cron&metadata=%C3", "invalid_field"],
  ["agent=cron&%E0%A4%A=x", "invalid_field"],
];

for (const [query, code] of QUERIES) {
  Deno.test(`section 3: ping?${query.slice(0, 50)} is refused with ${code}`, async () => {
    await refuse(query, 400, code);
  });
}

Deno.test("section 3: the message of a refusal names the parameter", async () => {
  await using h = await Harness.open();
  for (const name of ["cost_usd", "duration_ms", "started_at", "exit_code", "status"]) {
    const { text } = await h.get(`/v1/ping?agent=cron&${name}=%3F`);
    assertMatch(text, new RegExp(`^invalid_field .*"${name}"`));
  }
});

Deno.test("section 3: request text never breaks the line of a refusal", async () => {
  await using h = await Harness.open();
  for (const value of ["a%0D%0Ab", "a%E2%80%A8b", "a%00b", "%1B%5B31m"]) {
    for (const name of ["status", "started_at", "id"]) {
      const response = await h.get(`/v1/ping?agent=cron&${name}=${value}`);
      assertMatch(response.text, /^[^\p{Cc}\u2028\u2029]+\n$/u);
    }
  }
});

const CREDENTIALS: readonly (readonly [string, string | null, string])[] = [
  ["none", null, "invalid_credential"],
  ["a malformed one", "nonsense", "invalid_credential"],
  ["an unknown one", `ping_eu_${"f".repeat(32)}`, "invalid_credential"],
  ["one of another region", `ping_us_${"f".repeat(32)}`, "region_mismatch"],
];

for (const [name, key, code] of CREDENTIALS) {
  Deno.test(`section 3: ping with ${name} as credential is 401 ${code} in text`, async () => {
    await refuse("agent=cron", 401, code, () => Promise.resolve(key));
  });
}

Deno.test("section 3: a ping token on another agent is 401 scope_violation in text", async () => {
  const token = (h: Harness) => h.addKey({ kind: "ping_token", agent: "cron" });
  await refuse("agent=other", 401, "scope_violation", token);
  await refuse(`agent=CRON&id=${runId(1)}`, 401, "scope_violation", token);
});

Deno.test("section 3: a key without the scope ingest is 403 forbidden in text", async () => {
  const reader = (h: Harness) => h.addKey({ kind: "api_key", scopes: ["read"] });
  await refuse("agent=cron", 403, "forbidden", reader);
});

Deno.test("section 3: a conflict is 409 in text", async () => {
  await using h = await Harness.open();
  await h.get(`/v1/ping?agent=cron&id=${runId(1)}`);
  for (const query of ["agent=other", `agent=cron&started_at=${at(1)}`]) {
    const response = await h.get(`/v1/ping?${query}&id=${runId(1)}`);
    checkRefusal(response, 409, "id_conflict");
  }
});

Deno.test("section 3: a plan at its agent cap is 403 agent_cap_reached in text", async () => {
  await using h = await Harness.open({ tier: "free" });
  await Promise.all(Array.from({ length: 10 }, (_, i) => h.get(`/v1/ping?agent=a${i}`)));
  checkRefusal(await h.get("/v1/ping?agent=b"), 403, "agent_cap_reached");
  checkRefusal(await h.request("HEAD", "/v1/ping?agent=b"), 403, "agent_cap_reached", false);
});

Deno.test("section 3: another method on the path is 405 in text", async () => {
  await using h = await Harness.open();
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    checkRefusal(await h.request(method, "/v1/ping?agent=cron"), 405, "method_not_allowed");
  }
  assertEquals(await h.usage(), 0);
});

Deno.test("section 3: a path similar to the ping's is 404 in the envelope", async () => {
  await using h = await Harness.open();
  for (const path of ["/v1/ping/", "/v1/pings", "/v1/ping/x", "/v1/Ping"]) {
    const response = await h.get(`${path}?agent=cron`);
    assertEquals([response.status, response.json.error], [404, "not_found"]);
  }
  assertEquals(await h.usage(), 0);
});

function failing(error: Error): HarnessOptions {
  const fail = () => Promise.reject(error);
  const writes = { open: fail, append: fail, finish: fail, heartbeat: fail, ping: fail };
  const runs: RunStore = { ...writes, find: fail };
  return { deps: { runs } };
}

for (
  const [status, code, options] of [
    [503, "storage_unavailable", failing(new StorageUnavailable("no disk"))],
    [500, "internal_error", failing(new Error("a bug"))],
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

Deno.test("decision 3: a broken parameter does not discard the key of the same query", async () => {
  await using h = await Harness.open();
  const response = await h.get(`/v1/ping?key=${KEY}&agent=cron&metadata=100%`, { key: null });
  checkRefusal(response, 400, "invalid_field");
});

Deno.test("section 3: a URL of 60 KiB gets the line of text; a longer one is refused by the runtime", async () => {
  await using h = await Harness.open();
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
