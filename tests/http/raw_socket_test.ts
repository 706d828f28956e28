/**
 * Requests that no HTTP client would send: none may choose a route, count twice, hang or cause
 * damage.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import {
  AMBIGUOUS,
  ask,
  AUTH,
  BODY,
  get,
  head,
  LENGTH,
  post,
  RawSocket,
  refusal,
  refused,
  SIZE,
  SMUGGLED,
  unharmed,
} from "../support/harness/raw_socket.ts";

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

Harness.test("an absolute target is routed by its path, any other form is not found", async (h) => {
  const status = async (target: string, host = "x") => {
    const bytes = head(`GET ${target} HTTP/1.1`, `Host: ${host}`, "Connection: close");
    return (await ask(h.url, bytes))?.status;
  };
  await unharmed(h, async () => {
    assertEquals(await status("http://other/healthz"), 200);
    assertEquals(await status("http://other/nope"), 404);
    assertEquals(await status("http://other/healthz", "x/y"), 400);
    assertEquals(await status("http://other/v1/keys"), 401);
    for (const target of ["healthz", "other:80", "*", "/v1/a b", "?agent=a"]) {
      assertEquals(await status(target), 400, target);
    }
    const paths = "/v1/../healthz /./healthz /v1/%2e%2e/healthz //healthz //x/healthz /healthz/.";
    for (const target of [...paths.split(" "), "/v1\\..\\healthz", "/v1/\u00e9"]) {
      assertEquals(await status(target), 404, target);
    }
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
