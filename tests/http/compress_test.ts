/**
 * Responses to reads are compressed for clients that accept it; ingest responses and streams never
 * are.
 */
import { fixture } from "../support/harness/fixture.ts";
import { assert, assertEquals } from "@std/assert";
import { VERSION } from "../../domain/core/version.ts";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { cpuUsage } from "node:process";
import { gunzipSync } from "node:zlib";
import { Harness } from "../support/harness/harness.ts";

const VARY = "Authorization, X-AgentPing-Key, Accept-Encoding";

const RUN = "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001";

/** The response as sent on the wire: other clients inflate it automatically. */
async function wire(
  h: Harness,
  path: string,
  headers: Record<string, string>,
  { method = "GET", body = "" } = {},
) {
  const all = { Authorization: `Bearer ${h.key}`, ...headers };
  const input = request(h.url + path, { method, headers: all, agent: false });
  input.end(body);
  const [message] = await once(input, "response") as [IncomingMessage];
  const chunks: Uint8Array[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return { status: message.statusCode, headers: message.headers, bytes: Buffer.concat(chunks) };
}

/** A service with one run whose record is several kilobytes. */
async function openWithRun(): Promise<Harness> {
  const h = await Harness.open();
  const started_at = "2026-11-21T12:00:00Z";
  const goal = "a page of text ".repeat(500);
  await h.post("/v1/runs", { id: RUN, agent: "researcher", started_at, goal });
  return h;
}

/** Declares tests of a service with a run. */
const withRun = { test: fixture(() => openWithRun()) };

withRun.test("a read is compressed for a client that accepts gzip, with the same content", async (h) => {
  const path = `/v1/runs/${RUN}`;
  const plain = await wire(h, path, {});
  assertEquals(plain.headers["content-encoding"], undefined);
  assertEquals(plain.headers.vary, VARY);
  assertEquals(plain.headers["content-length"], String(plain.bytes.length));
  for (const accepted of ["gzip", "deflate, GZIP;q=0.5, br", "gzip, deflate, br, zstd"]) {
    const small = await wire(h, path, { "Accept-Encoding": accepted });
    assertEquals([small.status, small.headers["content-encoding"]], [200, "gzip"]);
    assertEquals(small.headers["content-length"], String(small.bytes.length));
    assertEquals(small.headers.vary, VARY);
    assertEquals(small.headers["content-type"], "application/json");
    assert(small.bytes.length * 4 < plain.bytes.length);
    assertEquals(gunzipSync(small.bytes).toString(), plain.bytes.toString());
  }
});

withRun.test("a client that does not accept gzip gets an uncompressed read", async (h) => {
  for (const accepted of ["identity", "br", "gzip;q=0", "gzip; q=0.000, br", "*", ""]) {
    const { headers, bytes } = await wire(h, `/v1/runs/${RUN}`, { "Accept-Encoding": accepted });
    assertEquals(headers["content-encoding"], undefined, accepted);
    assertEquals(JSON.parse(bytes.toString()).id, RUN);
  }
});

withRun.test("small responses, refusals and all responses to ingest calls are never compressed", async (h) => {
  const accepts = { "Accept-Encoding": "gzip" };
  const small = await wire(h, "/healthz", accepts);
  assertEquals([small.headers["content-encoding"], small.bytes.toString()], [
    undefined,
    `${JSON.stringify({ status: "ok", version: VERSION })}\n`,
  ]);
  const missing = await wire(h, `/v1/runs/${RUN.replace("0001", "0002")}`, accepts);
  assertEquals([missing.status, missing.headers["content-encoding"]], [404, undefined]);
  const text = "x".repeat(5_000);
  const body = JSON.stringify({
    status: "success",
    finished_at: "2026-11-21T12:00:09Z",
    output: { text },
  });
  const finish = await wire(h, `/v1/runs/${RUN}/finish`, accepts, { method: "POST", body });
  assertEquals([finish.status, JSON.parse(finish.bytes.toString()).output.text], [202, text]);
  assertEquals([finish.headers["content-encoding"], finish.headers.vary], [undefined, undefined]);
  const ping = await wire(h, "/v1/ping?agent=researcher", accepts);
  assertEquals([ping.status, ping.headers.vary], [200, "Authorization, X-AgentPing-Key"]);
});

Harness.test("the ETag of compressed bytes is weak, and both name the record", async (h) => {
  const plain = await wire(h, "/openapi.json", {});
  const small = await wire(h, "/openapi.json", { "Accept-Encoding": "gzip" });
  assertEquals(small.headers.etag, `W/${plain.headers.etag}`);
  for (const tag of [plain.headers.etag ?? "", small.headers.etag ?? ""]) {
    const conditional = { "Accept-Encoding": "gzip", "If-None-Match": tag };
    const again = await wire(h, "/openapi.json", conditional);
    assertEquals([again.status, again.bytes.length], [304, 0]);
    assertEquals(again.headers["content-encoding"], undefined);
    assertEquals([again.headers.etag, again.headers.vary], [small.headers.etag, "Accept-Encoding"]);
  }
});

Harness.test("a response that is the same for everyone is compressed once, not per request", async (h) => {
  /** Measures the milliseconds of the process for a number of responses. */
  const time = async (coding: string) => {
    const before = cpuUsage();
    for (let n = 0; n < 20; n++) await wire(h, "/openapi.json", { "Accept-Encoding": coding });
    const { user, system } = cpuUsage(before);
    return (user + system) / 1_000;
  };
  await time("identity");
  await wire(h, "/openapi.json", { "Accept-Encoding": "gzip" });
  let [plain, gzip] = [0, Infinity];
  // The threads of other tests count too.
  for (let n = 0; n < 10 && gzip >= 1.5 * plain; n++) {
    [plain, gzip] = [await time("identity"), await time("gzip")];
  }
  assert(gzip < 1.5 * plain, `${gzip} ms compressed, ${plain} ms plain`);
});
