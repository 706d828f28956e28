/**
 * Requests that no HTTP client would send: none may choose a route, count twice, hang or cause
 * damage.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { aRun, runId } from "../support/builders/requests.ts";
import { ALL_SCOPES, Harness } from "../support/harness/harness.ts";
import {
  AMBIGUOUS,
  ask,
  AUTH,
  BAD_CHUNK_SIZES,
  BODY,
  chunked,
  get,
  head,
  LENGTH,
  post,
  type RawAnswer,
  RawSocket,
  refusal,
  refused,
  SIZE,
  SMUGGLED,
  unharmed,
} from "../support/harness/raw_socket.ts";
import { VERSION } from "../../domain/core/version.ts";
import { Hono } from "hono";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { BODY_BYTES_MAX, BODY_DEADLINE_MS } from "../../domain/core/limits.ts";
import { Deadlines, TIMERS } from "../../runtime/deadlines.ts";
import { Memory } from "../../runtime/memory.ts";
import type { Env } from "../../routes/http/context.ts";
import { readJsonBody } from "../../routes/http/body.ts";
import { Admission } from "../../routes/http/admission.ts";
import { serve } from "../../app/server.ts";

Harness.test("decisions, section 2: a Host that is not a host and port cannot choose the route", async (h) => {
  const hosts = `x/healthz?y= x/healthz# x/healthz x?y x#y x\\healthz user@x user:pw@x @x http://x
    x: x:8a x:123456 x:-1 x:80:80 :80 [::1 ::1 [] [z] [::1]x [fe80::1%25eth0] x%2Fhealthz x,y * ${
    "a".repeat(254)
  } ex\u00e4mple`.split(/\s+/);
  await unharmed(h, async () => {
    for (const host of [...hosts, "x y", "x\ty", "x /healthz"]) {
      const answer = await ask(h.url, get("/nope", `Host: ${host}`, "Connection: close"));
      assertEquals(refusal(answer), [400, "invalid_field"], host);
      assertEquals(JSON.parse(answer?.body ?? "").field, "host");
    }
  });
  const good = "x x:80 x_y:8080 a-b.example.com [::1] [::1]:8000 127.0.0.1:65535";
  for (const host of good.split(" ")) {
    assertEquals((await ask(h.url, get("/healthz", `Host: ${host}`)))?.status, 200, host);
    assertEquals(refusal(await ask(h.url, get("/nope", `Host: ${host}`))), [404, "not_found"]);
  }
});

Harness.test("decisions, section 2: a request without a Host or with two is refused", async (h) => {
  await unharmed(h, async () => {
    assertEquals(refusal(await ask(h.url, get("/healthz", "Host:"))), [400, "invalid_field"]);
    const absent = await ask(h.url, get("/docs", "Accept: */*"));
    assertEquals(refusal(absent), [400, "invalid_field"]);
    await refused(h, "two hosts", get("/healthz", "Host: x", "Host: y"));
    await refused(h, "one host twice", get("/healthz", "Host: x", "Host: x"));
  });
});

Harness.test("a request with an ambiguous length is refused, and what follows is not executed", async (h) => {
  await unharmed(h, async () => {
    for (const [name, form] of Object.entries(AMBIGUOUS)) await refused(h, name, form + SMUGGLED);
  });
});

Harness.test("an unusual but unambiguous message is one request: never 5xx, and stored at most once", async (h) => {
  const forms = [
    post([LENGTH, LENGTH]) + BODY,
    post([LENGTH, "Expect: 200-maybe"]) + BODY,
    post([LENGTH, "Upgrade: h2c", "Connection: Upgrade"]) + BODY,
    post(["Transfer-Encoding: gzip, chunked"]) + [SIZE, BODY, "0", "", ""].join("\r\n"),
    post([LENGTH]).replaceAll("\r\n", "\n") + BODY,
  ];
  for (const form of forms) {
    const status = (await ask(h.url, form))?.status ?? 400;
    assert(status < 500, `${status} for ${form}`);
  }
  assert(await h.usage() <= 1);
  await unharmed(h, async () => {
    const withBody = get("/healthz", "Host: x", "Content-Length: 5", "Connection: close");
    assertEquals((await ask(h.url, `${withBody}hello`))?.status, 200);
  });
});

Harness.test("pipelined requests are answered in order, a refused body is not the next request", async (h) => {
  const hidden = get("/readyz", "Host: x");
  const inBody = [`Content-Length: ${hidden.length}`];
  const requests: [bytes: string, status: number, shows: string][] = [
    [get("/healthz", "Host: x"), 200, '"ok"'],
    [post(inBody, "/nope") + hidden, 404, "not_found"],
    [head("POST /v1/runs HTTP/1.1", "Host: x", ...inBody) + hidden, 401, "invalid_credential"],
    [post(inBody) + hidden, 400, "invalid_json"],
    [post(["Content-Length: 0"]), 400, "invalid_json"],
    [post([LENGTH]) + BODY, 202, runId(1)],
    [get(`/v1/runs/${runId(1)}`, "Host: x", AUTH), 200, runId(1)],
    [get("/healthz", "Host: x", "Connection: close"), 200, '"ok"'],
  ];
  using socket = await RawSocket.open(h.url);
  await socket.send(requests.map(([bytes]) => bytes).join(""));
  for (const [bytes, status, shows] of requests) {
    const answer = await socket.answer();
    assertEquals(answer?.status, status, bytes);
    assertStringIncludes(answer?.body ?? "", shows);
  }
  assert(await socket.ended());
  assertEquals(await h.usage(), 1);
});

Harness.test("a message that is not HTTP/1.1 is refused or cut off, and the service continues", async (h) => {
  const headers = Array.from({ length: 1_000 }, (_, i) => `X-${i}: y`);
  await unharmed(h, async () => {
    await refused(h, "a TLS hello", "\x16\x03\x01\x02\0\x01\0\r\n\r\n");
    await refused(h, "HTTP/0.9", "GET /healthz\r\n\r\n");
    await refused(h, "HTTP/2.0 by name", get("/healthz", "Host: x").replace("1.1", "2.0"));
    await refused(h, "a lower-case protocol", get("/healthz", "Host: x").replace("HTTP", "http"));
    await refused(h, "1,000 headers", get("/healthz", "Host: x", ...headers));
    await refused(h, "a control character in the key", get("/v1/keys", "Host: x", `${AUTH}\x01`));
    const twice = await ask(h.url, get("/v1/keys", "Host: x", AUTH, AUTH));
    assertEquals(refusal(twice), [401, "invalid_credential"]);
    const latin = await ask(h.url, get("/v1/keys", "Host: x", `${AUTH}\u00e9`));
    assertEquals(refusal(latin), [401, "invalid_credential"]);
    // The client sends and disconnects before a response.
    for (const bytes of ["GET /heal", "POST /v1/runs HTTP/1.1\r\nHost", post([LENGTH]), ""]) {
      using socket = await RawSocket.open(h.url);
      await socket.send(bytes);
    }
  });
});

/** Headers by which proxies and frameworks override path, host or method. */
const MISLEADING = [
  "X-Forwarded-Host: other",
  "X-Forwarded-Host: x/v1/keys?",
  "X-Forwarded-Proto: https",
  "X-Forwarded-Port: 1",
  "X-Forwarded-Prefix: /v1/keys",
  "X-Forwarded-Path: /v1/keys",
  "X-Forwarded-Uri: /v1/keys",
  "X-Forwarded-Server: x/v1/keys?",
  'Forwarded: host="x/v1/keys?";proto=https',
  "X-Original-URL: /v1/keys",
  "X-Original-URI: /v1/keys",
  "X-Rewrite-URL: /v1/keys",
  "X-Host: x/v1/keys?",
  "X-HTTP-Host-Override: x/v1/keys?",
  "X-HTTP-Method: DELETE",
  "X-HTTP-Method-Override: DELETE",
  "X-Method-Override: PUT",
  "Content-Location: /v1/keys",
  "Referer: http://x/v1/keys",
];

Harness.test("decisions, section 2: only Host affects routing, and only by refusing", async (h) => {
  await unharmed(h, async () => {
    for (const header of MISLEADING) {
      const nowhere = await ask(h.url, get("/nope", "Host: x", AUTH, header));
      assertEquals(nowhere?.status, 404, header);
      const health = await ask(h.url, get("/healthz", "Host: x", header));
      assertEquals([health?.status, health?.body], [
        200,
        `${JSON.stringify({ status: "ok", version: VERSION })}\n`,
      ], header);
      const usage = await ask(h.url, get("/v1/usage", "Host: x", AUTH, header));
      assertStringIncludes(usage?.body ?? "", '"month"', header);
    }
  });
});

/** Other spellings of an API path; none of them is routed. */
function disguises(path: string): string[] {
  const [, version = "", rest = ""] = path.split(/^\/(v1)\//);
  return [
    `/${path}`,
    `//x${path}`,
    `/.${path}`,
    `/x/..${path}`,
    `/%2e${path}`,
    `/%2E%2E${path}`,
    `/..;${path}`,
    `/${version}/./${rest}`,
    `/${version}//${rest}`,
    `/${version}/x/../${rest}`,
    `/${version}/%2e%2e/${version}/${rest}`,
    `/${version}%2F${rest}`,
    `/${version}%2f${rest}`,
    `/${version}%5C${rest}`,
    `/${version}\\${rest}`,
    `/${version};x=1/${rest}`,
    `/${version}/${rest};x=1`,
    `/${version}/${rest}/`,
    `/${version}/${rest}//`,
    `/${version}/${rest}%20`,
    `/${version}/${rest}%00`,
    `/${version}/${rest}.json`,
    `/${version}/${rest}%3Fa=b`,
    `/${version}/${rest}%23`,
    `/${version}/${rest}&a=b`,
    `/V1/${rest}`,
    `/${version}/${rest.toUpperCase()}`,
    `/%2576%31/${rest}`,
    `http://x/${path}`,
    `http://x/y/..${path}`,
    `http://x/V1/${rest}`,
    `http://x?${path}`,
    `http://x#${path}`,
  ];
}

/** True if a target names a host and no path: that is the start page, which redirects. */
function isStart(target: string): boolean {
  return /^http:\/\/[^/]*$/.test(target.split(/[?#]/, 1)[0] ?? "");
}

Harness.test("decisions, section 2: another spelling of a path is not that path", async (h) => {
  const complete = (target: string) =>
    head(`POST ${target} HTTP/1.1`, "Host: x", AUTH, LENGTH, "Connection: close") + BODY;
  await unharmed(h, async () => {
    for (const path of ["/v1/runs", "/v1/heartbeats"]) {
      for (const target of disguises(path)) {
        // A target without a path is the start page's, which accepts no POST.
        const status = (await ask(h.url, complete(target)))?.status;
        assertEquals(status, isStart(target) ? 405 : 404, target);
      }
    }
    for (const path of ["/v1/usage", "/v1/agents", "/v1/spend/unpriced"]) {
      for (const target of disguises(path)) {
        const status = (await ask(h.url, get(target, "Host: x", AUTH)))?.status;
        assertEquals(status, isStart(target) ? 303 : 404, target);
      }
    }
  });
});

Harness.test("an absolute-form target is routed by its path, whatever the authority and the query", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const path = `/v1/runs/${runId(1)}`;
  const targets = [
    path,
    `${path}?`,
    `${path}?key=/healthz`,
    `${path}?key=/../../healthz`,
    `${path}?key=b?c=d`,
    `http://other${path}`,
    `http://other:1${path}`,
    `http://user:pw@other${path}`,
    `https://other${path}?key`,
    `HTTP://OTHER${path}`,
    path.replace("/v1/", "/%76%31/"),
  ];
  await unharmed(h, async () => {
    for (const target of targets) {
      const answer = await ask(h.url, get(target, "Host: x", AUTH));
      assertEquals(answer?.status, 200, target);
      assertStringIncludes(answer?.body ?? "", runId(1), target);
    }
  });
});

Harness.test("a target that is no path, or whose Host is none, is refused", async (h) => {
  const ofTarget = (target: string, host = "x") =>
    ask(h.url, head(`GET ${target} HTTP/1.1`, `Host: ${host}`, "Connection: close"));
  await unharmed(h, async () => {
    for (const target of ["healthz", "other:80", "*", "/v1/a b", "?agent=a"]) {
      assertEquals((await ofTarget(target))?.status, 400, target);
    }
    assertEquals((await ofTarget("http://other/healthz", "x/y"))?.status, 400);
  });
});

Harness.test("a body with a broken chunk is refused or cut off, and nothing of it is stored", async (h) => {
  const remainder = [BODY, "0", "", ""];
  await unharmed(h, async () => {
    for (const size of BAD_CHUNK_SIZES) {
      await refused(
        h,
        `chunk size ${JSON.stringify(size)}`,
        chunked(size, ...remainder) + SMUGGLED,
      );
    }
    const late = head("POST /v1/runs HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") +
      [SIZE, BODY, "0", AUTH, "", ""].join("\r\n");
    assertEquals(refusal(await ask(h.url, late)), [401, "invalid_credential"]);
  });
  assertEquals((await ask(h.url, chunked(`${SIZE};a=b`, ...remainder)))?.status, 202);
  assertEquals((await ask(h.url, chunked(SIZE, BODY, "0", "X-Checksum: 1", "", "")))?.status, 200);
  assertEquals(await h.usage(), 1);
});

Harness.test("a body that ends early is invalid_json and stores nothing", async (h) => {
  await unharmed(h, async () => {
    const half = BODY.slice(0, BODY.length / 2);
    // A truncated body that happens to be valid JSON must not count as the announced body.
    const complete = post([`Content-Length: ${BODY.length + 1}`]) + BODY;
    const chunks = chunked(SIZE, BODY);
    for (const bytes of [post([LENGTH]) + half, post([LENGTH]), complete, chunks]) {
      using socket = await RawSocket.open(h.url);
      await socket.send(bytes);
      await socket.endSending();
      assertEquals(refusal(await socket.answer()), [400, "invalid_json"], bytes);
      assert(await socket.ended());
    }
  });
});

/**
 * Reads the response to a request whose body is never sent; the runtime may send 100 Continue
 * first.
 */
async function finalAnswer(url: string, bytes: string): Promise<RawAnswer | null> {
  using socket = await RawSocket.open(url);
  await socket.send(bytes);
  const first = await socket.answer();
  return first?.status === 100 ? await socket.answer() : first;
}

Harness.test("Expect: 100-continue is answered before the body, or refused without it", async (h) => {
  const EXPECT = "Expect: 100-continue";
  await unharmed(h, async () => {
    const stranger = head("POST /v1/runs HTTP/1.1", "Host: x", LENGTH, EXPECT);
    assertEquals(refusal(await finalAnswer(h.url, stranger)), [401, "invalid_credential"]);
    const large = post([`Content-Length: ${BODY_BYTES_MAX + 1}`, EXPECT]);
    assertEquals(refusal(await finalAnswer(h.url, large)), [413, "payload_too_large"]);
  });
  using socket = await RawSocket.open(h.url);
  await socket.send(post([LENGTH, EXPECT]));
  assertEquals((await socket.answer())?.status, 100);
  await socket.send(BODY);
  assertEquals((await socket.answer())?.status, 202);
});

Harness.test("decision 11: 413 for an announced 100 MB is sent immediately, before or during the upload", async (h) => {
  const announced = post(["Content-Length: 100000000"]);
  await unharmed(h, async () => {
    assertEquals(refusal(await ask(h.url, announced)), [413, "payload_too_large"]);
    using socket = await RawSocket.open(h.url);
    await socket.send(announced);
    // Far more than the sockets' buffers: a server that closed now would reset the connection.
    await socket.send(new Uint8Array(16 * BODY_BYTES_MAX));
    assertEquals(refusal(await socket.answer()), [413, "payload_too_large"]);
  });
});

Harness.test("decision 11: a chunked body is 413 once it exceeds the limit, whatever follows", async (h) => {
  await unharmed(h, async () => {
    using socket = await RawSocket.open(h.url);
    await socket.send(post(["Transfer-Encoding: chunked"]));
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    await socket.send(chunk.repeat(BODY_BYTES_MAX / 0x10000 + 1));
    // The last chunk is never sent, so the response cannot have waited for the end.
    assertEquals(refusal(await socket.answer()), [413, "payload_too_large"]);
  });
});

/** The service's own body guard with a deadline short enough for a test. */
async function withDeadline(ms: number, run: (url: string) => Promise<void>): Promise<void> {
  const app = new Hono<Env>();
  using deadlines = new Deadlines(ms, TIMERS);
  const guard = readJsonBody(
    deadlines,
    new Admission({
      memory: new Memory(),
      shuttingDown: new AbortController().signal,
      draining: () => false,
      silentMsMax: Infinity,
    }),
    { shape: "fields" },
  );
  const team: Team = { id: "team" as TeamId, name: "team", tier: "team" };
  app.post("/", async (c) => {
    c.set("principal", { team, credentialId: "key", grant: ALL_SCOPES });
    return await guard(c) ?? c.json(c.var.body.value);
  });
  const server = serve(app.fetch, "127.0.0.1", 0);
  await run(server.url);
  await server.drain();
}

Deno.test("a body that never ends is 408 after the deadline, silent or dripping", async () => {
  const start = head("POST / HTTP/1.1", "Host: x", "Content-Length: 1000") + '{"a":';
  await withDeadline(100, async (url) => {
    using silent = await RawSocket.open(url);
    const startedMs = performance.now();
    await silent.send(start);
    const answer = await silent.answer();
    assertEquals(refusal(answer), [408, "body_timeout"]);
    assertStringIncludes(answer?.body ?? "", "100 ms");
    assert(performance.now() - startedMs >= 99, "before the deadline");
    // Announced by the response, and by the server if the body is unread.
    assertStringIncludes(answer?.headers.get("connection") ?? "", "close");
    await silent.endSending();
    assert(await silent.ended());

    using dripping = await RawSocket.open(url);
    await dripping.send(start);
    const drip = setInterval(() => dripping.send(" ").catch(() => {}), 20);
    assertEquals(refusal(await dripping.answer()), [408, "body_timeout"]);
    clearInterval(drip);
  });
});

Deno.test("a body in pieces that ends before the deadline is accepted", async () => {
  await withDeadline(BODY_DEADLINE_MS, async (url) => {
    using socket = await RawSocket.open(url);
    await socket.send(head("POST / HTTP/1.1", "Host: x", "Content-Length: 7"));
    for (const piece of ['{"a"', ":1", "}"]) await socket.send(piece);
    assertEquals((await socket.answer())?.body, '{"a":1}');
  });
});
