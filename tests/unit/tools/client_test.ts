import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { developmentKey } from "../../../domain/teams/credentials.ts";
import { connectionOf, createClient, Refused } from "../../../tools/client.ts";
import { ToolFailure, UsageError } from "../../../tools/command.ts";
import { aRun, runId } from "../../support/builders/requests.ts";
import { Harness, KEY } from "../../support/harness/harness.ts";

/** A server with scripted responses: for codes that the service returns only under load. */
function scripted(answers: readonly Response[], port = 0) {
  const remaining = [...answers];
  const onListen = () => {};
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen }, () => {
    return remaining.shift() ?? new Response("{}", { status: 202 });
  });
  return { server, port: server.addr.port, url: `http://127.0.0.1:${server.addr.port}` };
}

function refusal(status: number, headers: Record<string, string> = {}): Response {
  return Response.json({ error: "rate_limit", message: "wait" }, { status, headers });
}

Deno.test("a tool calls the server from the service's settings, unless an option names another", () => {
  const own = `apk_us_${"5e".repeat(16)}`;
  const of = (settings: Record<string, string>, options = {}) =>
    connectionOf(options, (name) => settings[name]);
  assertEquals(of({}), { url: "http://127.0.0.1:8000", key: developmentKey("eu") });
  assertEquals(of({ HOST: "", PORT: "", RUNLEDGER_KEY: "" }), of({}));
  assertEquals(of({ PORT: "9", RUNLEDGER_REGION: "us" }), {
    url: "http://127.0.0.1:9",
    key: developmentKey("us"),
  });
  const hosts = { "0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]", "box": "box" };
  for (const [HOST, host] of Object.entries(hosts)) {
    assertEquals(of({ HOST, RUNLEDGER_KEY: own }), { url: `http://${host}:8000`, key: own });
  }
  const named = { url: "http://elsewhere", key: own };
  assertEquals(of({ HOST: "box", PORT: "0", RUNLEDGER_KEY: "x" }, named), named);
  assertThrows(() => of({ PORT: "0" }), UsageError, "--url");
});

Deno.test("decision 42: a 503 is retried after the seconds it names, and the write is stored once", async () => {
  await using h = await Harness.open();
  h.draining = true;
  const pauses: number[] = [];
  using client = createClient({ url: h.url, key: h.key }, (ms) => {
    pauses.push(ms);
    h.draining = false;
    return Promise.resolve();
  });
  assertEquals((await client.post("/v1/runs", aRun(1))).status, 202);
  assertEquals([pauses.length, (pauses[0] ?? 0) >= 1_000], [1, true]);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.status, "running");
  assertEquals(await h.usage(), 1);
});

Deno.test("contract 10: a 429 waits as the header says, and without the header backs off", async () => {
  const { server, url } = scripted([
    refusal(429, { "Retry-After": "3" }),
    refusal(429),
    refusal(429),
    refusal(502),
  ]);
  const pauses: number[] = [];
  using client = createClient({ url, key: KEY }, (ms) => Promise.resolve(void pauses.push(ms)));
  assertEquals((await client.post("/v1/runs", aRun(1))).status, 202);
  assertEquals(pauses, [3_000, 500, 1_000, 2_000]);
  await server.shutdown();
});

Deno.test("retries against a server that always refuses are limited", async () => {
  const { server, url } = scripted(Array.from({ length: 50 }, () => refusal(429)));
  let pauses = 0;
  using client = createClient({ url, key: KEY }, () => Promise.resolve(void pauses++));
  const error = await assertRejects(() => client.post("/v1/runs", aRun(1)), Refused, "rate_limit");
  assertEquals([(error as Refused).status, pauses], [429, 6]);
  await server.shutdown();
});

Deno.test("the client waits for a server that restarts, but not for one that never answered", async () => {
  const first = scripted([]);
  let second: ReturnType<typeof scripted> | null = null;
  using client = createClient({ url: first.url, key: KEY }, () => {
    second ??= scripted([], first.port);
    return Promise.resolve();
  });
  await client.post("/v1/runs", aRun(1));
  await first.server.shutdown();
  assertEquals((await client.post("/v1/runs", aRun(2))).status, 202);
  await (second as ReturnType<typeof scripted> | null)?.server.shutdown();

  using absent = createClient({ url: first.url, key: KEY }, () => {
    throw new RangeError("must not wait");
  });
  const error = await assertRejects(() => absent.get("/v1/runs"), ToolFailure, first.url);
  assertStringIncludes(error.message, "deno task dev");
});

Deno.test("contract 11: a 409 is reported immediately, with its code", async () => {
  await using h = await Harness.open();
  using client = createClient({ url: h.url, key: h.key }, () => {
    throw new RangeError("must not wait");
  });
  await client.post("/v1/runs", aRun(1));
  const again = aRun(1, { agent: "another" });
  const error = await assertRejects(() => client.post("/v1/runs", again), Refused, "id_conflict");
  assertEquals((error as Refused).status, 409);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.agent, "researcher");
});

Deno.test("decision 23: a replay is distinguished from a first write", async () => {
  await using h = await Harness.open();
  using client = createClient({ url: h.url, key: h.key });
  assertEquals((await client.post("/v1/runs", aRun(1))).replayed, false);
  assertEquals((await client.post("/v1/runs", aRun(1))).replayed, true);
});

Deno.test("decision 1: a refused key is one line without the key", async () => {
  await using h = await Harness.open();
  const wrong = KEY.replaceAll("a", "b").replace("bpk", "apk");
  using client = createClient({ url: h.url, key: wrong });
  const error = await assertRejects(() => client.post("/v1/runs", aRun(1)), Refused, "--key");
  assertEquals(error.message.includes(wrong), false);
  assertEquals(error.message.includes("\n"), false);
  assertEquals(await h.usage(), 0);
});

Deno.test("decision 2: the region follows from the key; a slash at the end of the URL is ignored", async () => {
  await using us = await Harness.open({ region: "us" });
  using client = createClient({ url: `${us.url}/`, key: us.key });
  assertEquals(client.region, "us");
  assertEquals((await client.post("/v1/runs", aRun(1))).status, 202);
});

Deno.test("a server other than the service is recognized", async () => {
  const { server, url } = scripted([
    new Response("<h1>Not found</h1>", { status: 404 }),
    new Response("<h1>Hello</h1>"),
  ]);
  using client = createClient({ url, key: KEY });
  await assertRejects(() => client.get("/v1/runs"), ToolFailure, "is a Runledger server");
  await assertRejects(() => client.get("/v1/runs"), ToolFailure, "is a Runledger server");
  await server.shutdown();
});

Deno.test("a malformed URL or key is refused before anything is sent", () => {
  assertThrows(() => createClient({ url: "localhost:8000", key: KEY }), UsageError, "--url");
  assertThrows(() => createClient({ url: "ftp://x", key: KEY }), UsageError, "--url");
  const error = assertThrows(
    () => createClient({ url: "http://x", key: "sk-secret" }),
    UsageError,
    "--key",
  );
  assertEquals(error.message.includes("sk-secret"), false);
});

Deno.test("decision 2: a curl line shows the development key and no other", () => {
  using own = createClient({ url: "http://x:1", key: KEY });
  assertEquals(
    own.curl("/v1/runs/1"),
    `curl -sS --fail-with-body -u "$KEY:" "http://x:1/v1/runs/1"`,
  );
  using shared = createClient({ url: "http://x:1", key: developmentKey("us") });
  assertStringIncludes(shared.curl("/"), `-u ${developmentKey("us")}: `);
});
