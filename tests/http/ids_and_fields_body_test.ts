/** The body as bytes: encodings, sizes, depth, and JSON syntax (decisions 7, 10 and 11). */
import { assertEquals } from "@std/assert";
import { gzipSync } from "node:zlib";
import { BODY_BYTES_MAX, JSON_DEPTH_MAX, PREVIEW_CHARS_MAX } from "../../domain/core/limits.ts";
import { aFinish, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { type Answer, enterprise, Harness } from "../support/harness/harness.ts";

const encoder = new TextEncoder();
const GZIP = { "Content-Encoding": "gzip" };

/** A valid `POST /v1/runs` body of exactly this many bytes. */
function aRunOfBytes(n: number, bytes: number): string {
  const open = `${JSON.stringify(aRun(n)).slice(0, -1)},"pad":"`;
  return `${open}${"x".repeat(bytes - open.length - 2)}"}`;
}

/** A valid `POST /v1/runs` body whose deepest array is at this level. */
function aRunOfDepth(n: number, depth: number): string {
  const nested = "[".repeat(depth - 1) + "]".repeat(depth - 1);
  return `${JSON.stringify(aRun(n)).slice(0, -1)},"nested":${nested}}`;
}

function code({ status, text }: Answer): [number, string | undefined] {
  return [status, status < 300 ? undefined : JSON.parse(text).error];
}

const STORED = [202, undefined] as const;
const TOO_LARGE = [413, "payload_too_large"] as const;
Harness.test("R10: the limit counts bytes, not characters", async (h) => {
  const open = `${JSON.stringify(aRun(1)).slice(0, -1)},"pad":"`;
  const padBytes = BODY_BYTES_MAX - open.length - 2;
  const three = "€".repeat(Math.floor(padBytes / 3));
  const most = `${open}${three}${"x".repeat(padBytes % 3)}"}`;
  assertEquals(encoder.encode(most).length, BODY_BYTES_MAX);
  assertEquals(code(await h.post("/v1/runs", most)), [...STORED]);
  assertEquals(code(await h.post("/v1/runs", `${most.slice(0, -2)}x"}`)), [...TOO_LARGE]);
});

Harness.test("R10: a body of unannounced length has the same limit", async (h) => {
  for (
    const [n, bytes, status] of [[1, BODY_BYTES_MAX, 202], [2, BODY_BYTES_MAX + 1, 413]] as const
  ) {
    const complete = encoder.encode(aRunOfBytes(n, bytes));
    const pieces = Array.from(
      { length: Math.ceil(bytes / 100_000) },
      (_, i) => complete.subarray(i * 100_000, (i + 1) * 100_000),
    );
    const response = await fetch(`${h.url}/v1/runs`, {
      method: "POST",
      headers: { Authorization: `Bearer ${h.key}` },
      body: ReadableStream.from(pieces),
    });
    await response.body?.cancel();
    assertEquals(response.status, status);
  }
});

Harness.test("decision 10: Content-Type is ignored", async (h) => {
  const types = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "nonsense",
  ];
  for (const [n, type] of types.entries()) {
    const headers = { "Content-Type": type };
    assertEquals(code(await h.post("/v1/runs", aRun(n), { headers })), [...STORED], type);
  }
  const bytes = encoder.encode(JSON.stringify(aRun(9)));
  assertEquals(code(await h.post("/v1/runs", bytes)), [...STORED]);
});

Harness.test("decision 10: identity and gzip in any case are read, everything else is 415", async (h) => {
  for (const [n, encoding] of ["gzip", "GZIP", "X-Gzip"].entries()) {
    const headers = { "Content-Encoding": encoding };
    const answer = await h.post("/v1/runs", gzipSync(JSON.stringify(aRun(n))), { headers });
    assertEquals(code(answer), [...STORED], encoding);
    assertEquals((await h.get(`/v1/runs/${runId(n)}`)).json.agent, "researcher");
  }
  const identity = { headers: { "Content-Encoding": "Identity" } };
  assertEquals(code(await h.post("/v1/runs", aRun(8), identity)), [...STORED]);
  const before = await h.dump();
  for (const encoding of ["br", "deflate", "zstd", "compress", "gzip, gzip", "gzip,br", "x"]) {
    const headers = { "Content-Encoding": encoding };
    const answer = await h.post("/v1/runs", aRun(9), { headers });
    assertEquals(code(answer), [415, "unsupported_encoding"], encoding);
    assertEquals(answer.headers.get("accept-encoding"), "gzip");
  }
  assertEquals(await h.dump(), before);
});

Harness.test("decision 10: gzip is inflated up to the limit of the body", async (h) => {
  const send = (body: Uint8Array) => h.post("/v1/runs", body, { headers: GZIP });
  assertEquals(code(await send(gzipSync(aRunOfBytes(1, BODY_BYTES_MAX)))), [...STORED]);
  const before = await h.dump();
  assertEquals(code(await send(gzipSync(aRunOfBytes(2, BODY_BYTES_MAX + 1)))), [...TOO_LARGE]);
  const bomb = gzipSync(new Uint8Array(256 * 1024 * 1024), { level: 9 });
  assertEquals(bomb.length < BODY_BYTES_MAX, true, "the bomb itself is small enough to be read");
  assertEquals(code(await send(bomb)), [...TOO_LARGE]);
  assertEquals(await h.dump(), before);
});

Harness.test("decision 10: members of a gzip stream count together", async (h) => {
  const halves = (text: string) => {
    const middle = text.length >> 1;
    const [a, b] = [gzipSync(text.slice(0, middle)), gzipSync(text.slice(middle))];
    const joined = new Uint8Array(a.length + b.length);
    joined.set(a);
    joined.set(b, a.length);
    return joined;
  };
  const complete = await h.post("/v1/runs", halves(JSON.stringify(aRun(1))), { headers: GZIP });
  assertEquals(code(complete), [...STORED]);
  const over = halves(aRunOfBytes(2, BODY_BYTES_MAX + 1));
  assertEquals(code(await h.post("/v1/runs", over, { headers: GZIP })), [...TOO_LARGE]);
});

Harness.test("R7: a field that is not read may nest to any depth", async (h) => {
  for (const [n, depth] of [[1, JSON_DEPTH_MAX], [2, JSON_DEPTH_MAX + 1], [3, 500_000]] as const) {
    const answer = await h.post("/v1/runs", aRunOfDepth(n, depth));
    assertEquals(code(answer), [...STORED], `depth ${depth}`);
    assertEquals(answer.headers.get("runledger-ignored"), "nested");
    assertEquals((await h.get(`/v1/runs/${runId(n)}`)).json.agent, "researcher");
  }
  // The control API does not accept such a body.
  const key = `{"kind":"api_key","name":"a","nested":${"[".repeat(64)}${"]".repeat(64)}}`;
  assertEquals(code(await h.post("/v1/keys", key)), [...TOO_LARGE]);
});

Harness.test("R7: a payload of 64 levels is kept, a deeper one is truncated", async (h) => {
  const nest = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const event = (n: number, data: string) =>
    `{"events":[${JSON.stringify(anEvent(n, { data: "D" })).replace('"D"', data)}]}`;
  const finish = (output: string) =>
    `${JSON.stringify(aFinish()).slice(0, -1)},"output":${output}}`;
  assertEquals(JSON_DEPTH_MAX, 64);
  for (const [n, levels] of [[1, 64], [2, 65], [3, 100_000]] as const) {
    const path = `/v1/runs/${runId(n)}`;
    const events = await h.post(`${path}/events`, event(n, nest(levels)));
    const end = await h.post(`${path}/finish`, finish(nest(levels)));
    assertEquals([code(events), code(end)], [[...STORED], [...STORED]]);
    const reported = [events, end].map(({ headers }) => headers.get("runledger-dropped"));
    assertEquals(reported, levels === 64 ? [null, null] : ["data=1", "output=1"]);
    const { text, json } = await h.get(path);
    if (levels === 64) {
      assertEquals(
        text.includes(`"data":${nest(64)}`) && text.includes(`"output":${nest(64)}`),
        true,
      );
      continue;
    }
    const preview = nest(levels).slice(0, PREVIEW_CHARS_MAX);
    const cut = { truncated: true, bytes: nest(levels).length, preview };
    assertEquals([json.events[0].data, json.output], [cut, cut]);
  }
});

enterprise.test("R7: nesting in other fields is only a malformed field", async (h) => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const run = (field: string, n: number) =>
    `${JSON.stringify(aRun(n, { [field]: "D" })).replace('"D"', deep)}`;
  const refused = await h.post("/v1/runs", run("agent", 1));
  assertEquals([refused.status, refused.json.error, refused.json.field], [
    400,
    "invalid_field",
    "agent",
  ]);
  const labels = `${JSON.stringify(aRun(2)).slice(0, -1)},"metadata":{"a":1,"b":${deep},"c":2}}`;
  const accepted = await h.post("/v1/runs", labels);
  assertEquals([accepted.status, accepted.headers.get("runledger-dropped")], [202, "metadata=1"]);
  assertEquals((await h.get(`/v1/runs/${runId(2)}`)).json.metadata, { a: 1, c: 2 });
});

Harness.test("decision 11: brackets inside texts do not nest", async (h) => {
  const text = `{["\\\\"{[`.repeat(100);
  const body = aRun(1, { goal: text, [text]: text });
  assertEquals(code(await h.post("/v1/runs", body)), [...STORED]);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.goal, text);
});
