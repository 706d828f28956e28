/** Traces of OpenTelemetry over a socket: what recorded exporters send becomes runs, priced once. */
import { deflateSync } from "node:zlib";
import { assert, assertEquals } from "@std/assert";
import { reprice } from "../support/builders/reprice.ts";
import { stub } from "@std/testing/mock";
import { PbfReader, PbfWriter } from "pbf";
import type { JsonFields } from "../../domain/core/body.ts";
import { Memory } from "../../runtime/memory.ts";
import { openStore } from "../../kv/open.ts";
import { exportLines } from "../../kv/transfer/export.ts";
import { importLines } from "../../kv/transfer/import.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import {
  type ExpectedExport,
  type RecordedExport,
  recordedExport,
  recordedExports,
} from "../support/builders/spans.ts";
import { sendMangled } from "../assurance/fuzz/spans.ts";
import { SEED } from "../support/harness/seed.ts";
import { KvServer } from "../support/fakes/kv_server.ts";
import { ofFile } from "../support/harness/test_kv.ts";
import {
  type Answer,
  Harness,
  type HarnessOptions,
  type RequestOptions,
} from "../support/harness/harness.ts";
import { until } from "../support/harness/until.ts";
import { strayRows } from "../support/oracles/stray_rows.ts";

/** After the recordings. */
const NOON = Date.UTC(2026, 10, 22, 12);

/**
 * Milliseconds after which a silent trace is closed, in steps of the clock. If the work loop misses a
 * step on a busy machine, that is an absence of the service, which postpones the close by its length.
 */
const SILENT_MS = 240_000, STEP_MS = 20_000;

/** One call in two traces, which only a request with both of them can show. */
const IN_TWO_TRACES = "dbl";

async function open(options: HarnessOptions = {}): Promise<Harness> {
  const h = await Harness.open(options);
  h.nowMs = NOON;
  return h;
}

function send(
  h: Harness,
  { contentType, body }: Pick<RecordedExport, "contentType" | "body">,
  { headers, ...options }: RequestOptions = {},
): Promise<Answer> {
  const all = { "Content-Type": contentType, ...headers };
  return h.post("/v1/traces", body, { ...options, headers: all });
}

/**
 * Lets the worker and the work loop do what is due. Of several instances the one that holds the
 * lease does it; the others begin when they hold it.
 */
async function work(instances: readonly Harness[]): Promise<void> {
  await Promise.race(instances.map(async (h) => {
    await h.worker.idle();
    await h.work.idle();
    await h.worker.idle();
  }));
}

/** Does what is due, with the clock moved past a silence. */
async function becomeSilent(...instances: readonly Harness[]): Promise<void> {
  await work(instances);
  for (let ms = 0; ms < SILENT_MS; ms += STEP_MS) {
    for (const h of instances) h.nowMs += STEP_MS;
    await work(instances);
  }
}

async function assertIntact(h: Harness): Promise<void> {
  assertEquals((await verifyStore(h.store)).differences, []);
  assertEquals(await strayRows(h.store), []);
}

/** Declares tests of a service that is intact at the end. */
const otlp = {
  test(name: string, body: (h: Harness) => Promise<void>) {
    Deno.test(name, async () => {
      await using h = await open();
      await body(h);
      await assertIntact(h);
    });
  },
};

/** Reads a path; a service that did not reach its store in time is asked again. */
async function readJson(h: Harness, path: string): Promise<Answer["json"]> {
  const { status, json } = await until(async () => {
    const answer = await h.get(path);
    return answer.status !== 503 && answer;
  });
  assertEquals(status, 200, path);
  return json;
}

/** Asserts that each call which is not counted names the one that is. */
async function assertRepeats(h: Harness, { id, trace }: Answer["json"]): Promise<void> {
  const { events, events_cursor } = await readJson(h, `/v1/runs/${id}?events_limit=200`);
  assertEquals(events_cursor, null);
  const calls: Answer["json"][] = events.filter(({ type }: Answer["json"]) => type === "llm_call");
  const repeats = calls.filter(({ counted_by }) => counted_by !== undefined);
  assertEquals(repeats.length, trace.repeated_calls);
  for (const { counted_by, cost_usd, data } of repeats) {
    const counted = calls.find(({ id }) => id === counted_by);
    assertEquals([cost_usd, counted.counted_by], [0, undefined]);
    assert(trace.scopes.includes(counted.data.span.scope) && data.span.id !== counted.data.span.id);
  }
}

async function assertRuns(h: Harness, { runs, total }: ExpectedExport): Promise<void> {
  const sums = { calls: 0, input: 0, output: 0, cached: 0 };
  for (const { trace, agent, status, calls, tools, labels } of runs) {
    const run = await readJson(h, `/v1/runs/run_eu_${trace}`);
    assertEquals([run.agent, run.status, run.cost.state], [agent, status, "final"], trace);
    assertEquals([run.usage.llm_calls, run.usage.tool_calls], [calls, tools], trace);
    const { session, ...others } = labels;
    for (const [name, value] of Object.entries(others)) assertEquals(run[name], value, name);
    if (session !== undefined && session.length <= 50) {
      assertEquals(run.metadata.session, session);
    }
    const { calls: explained } = await readJson(h, `/v1/runs/run_eu_${trace}/cost`);
    assertEquals(explained.length, calls);
    await assertRepeats(h, run);
    sums.calls += calls;
    sums.input += run.usage.input_tokens;
    sums.output += run.usage.output_tokens;
    sums.cached += run.usage.cached_input_tokens;
  }
  assertEquals(sums, {
    calls: total.calls + total.failed,
    input: total.input_tokens,
    output: total.output_tokens,
    cached: total.cached_input_tokens,
  });
}

otlp.test("each recorded export becomes its runs, with each call priced once, sent twice too", async (h) => {
  const all = await recordedExports();
  for (const sent of all) {
    const { status, text, headers } = await send(h, sent);
    const isJson = sent.contentType === "application/json";
    assertEquals([status, text], [200, isJson ? "{}" : ""], sent.name);
    assertEquals(headers.get("content-type"), sent.contentType);
    const used = await h.usage();
    assertEquals((await send(h, sent)).status, 200);
    assertEquals(await h.usage(), used, sent.name);
  }
  await becomeSilent(h);
  for (const { expected } of all) await assertRuns(h, expected);
});

interface JsonOfResource {
  readonly resource: unknown;
  readonly scopeSpans: readonly { readonly scope: unknown; readonly spans: readonly unknown[] }[];
}

/** Splits a body into bodies of one span each. */
function bodiesOfOne(
  { contentType, body }: Pick<RecordedExport, "contentType" | "body">,
): Uint8Array<ArrayBuffer>[] {
  if (contentType === "application/json") {
    const { resourceSpans } = JSON.parse(new TextDecoder().decode(body));
    return resourceSpans.flatMap(({ resource, scopeSpans }: JsonOfResource) =>
      scopeSpans.flatMap(({ scope, spans }) =>
        spans.map((span) => {
          const one = { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [span] }] }] };
          return new TextEncoder().encode(JSON.stringify(one));
        })
      )
    );
  }
  const bodies: Uint8Array<ArrayBuffer>[] = [];
  const fieldsOf = (bytes: Uint8Array, field: number) => {
    const values: Uint8Array[] = [];
    new PbfReader(bytes).readFields((tag, _, pbf) => {
      if (tag === field) values.push(pbf.readBytes());
    }, null);
    return values;
  };
  for (const ofResource of fieldsOf(body, 1)) {
    for (const ofScope of fieldsOf(ofResource, 2)) {
      for (const span of fieldsOf(ofScope, 2)) {
        const scope = new PbfWriter();
        for (const bytes of fieldsOf(ofScope, 1)) scope.writeBytesField(1, bytes);
        scope.writeBytesField(2, span);
        const resource = new PbfWriter();
        for (const bytes of fieldsOf(ofResource, 1)) resource.writeBytesField(1, bytes);
        resource.writeBytesField(2, scope.finish());
        const request = new PbfWriter();
        request.writeBytesField(1, resource.finish());
        bodies.push(new Uint8Array(request.finish()));
      }
    }
  }
  return bodies;
}

for (const name of ["py-traceloop", "py-pydantic", "py-oi-openai", "py-logfire"]) {
  Deno.test(`${name}: twins in requests of their own are priced once, in either order`, async () => {
    const sent = await recordedExport(name);
    const bodies = bodiesOfOne(sent);
    const costs = [];
    for (const order of [bodies, bodies.toReversed()]) {
      await using h = await open();
      for (const body of order) {
        assertEquals((await send(h, { ...sent, body })).status, 200);
        await h.worker.idle();
      }
      await becomeSilent(h);
      await assertRuns(h, sent.expected);
      await assertIntact(h);
      const spend = (await h.get("/v1/spend?from=2026-11-22&to=2026-11-23&group_by=agent")).json;
      costs.push(spend.totals.cost_usd);
    }
    assertEquals(costs[0], costs[1]);
  });
}

KvServer.test("spans of all exports, one a request, over two instances on a shared KV", async (server) => {
  await using opened = new AsyncDisposableStack();
  const both = [
    opened.use(await open({ kv: server.url() })),
    opened.use(await open({ kv: server.url() })),
  ] as const;
  const all = (await recordedExports()).filter(({ name }) => name !== IN_TWO_TRACES);
  await Promise.all(all.map(async (sent, at) => {
    for (const [i, body] of bodiesOfOne(sent).entries()) {
      const h = both[(at + i) % 2] as Harness;
      // New agents of two instances conflict; exporters repeat what the store did not confirm.
      const { status } = await until(async () => {
        const answer = await send(h, { ...sent, body });
        return answer.status !== 503 && answer;
      });
      assertEquals(status, 200, sent.name);
    }
  }));
  await becomeSilent(...both);
  await Promise.all(all.map(({ expected }, at) => assertRuns(both[at % 2] as Harness, expected)));
  await assertIntact(both[0]);
});

ofFile(
  "export and import: a traced run answers the same, and a later span is decided as before",
  async () => {
    await using h = await open();
    const sent = await recordedExport("py-traceloop");
    const [first, ...others] = bodiesOfOne(sent);
    for (const body of others) await send(h, { ...sent, body });
    await h.worker.idle();
    const path = `/v1/runs/run_eu_${sent.expected.runs[0]?.trace}`;
    const reads = async () => [(await h.get(path)).json, (await h.get(`${path}/cost`)).json];
    const before = await reads();
    const lines = await Array.fromAsync(exportLines(h.store));
    await h.restart(async () => {
      for (const end of ["", "-wal", "-shm"]) await Deno.remove(h.path + end).catch(() => {});
      const store = await openStore(h.path, new Memory());
      await importLines(store, ReadableStream.from(lines));
      await store.close();
    });
    assertEquals(await reads(), before);
    await send(h, { ...sent, body: first as Uint8Array<ArrayBuffer> });
    await becomeSilent(h);
    await assertRuns(h, sent.expected);
    await assertIntact(h);
  },
);

otlp.test("repricing changes what is counted, and keeps twins out of the cost", async (h) => {
  const sent = await recordedExport("py-traceloop");
  await send(h, sent);
  await h.worker.idle();
  const path = `/v1/runs/run_eu_${sent.expected.runs[0]?.trace}`;
  const before = (await h.get(path)).json;
  const model = "claude-sonnet-4-5";
  const put = await h.request("PUT", "/v1/rate-card", {
    body: {
      provider: "anthropic",
      model,
      input_usd_per_million: 1_000,
      output_usd_per_million: 2_000,
      cached_input_usd_per_million: 100,
      cache_write_usd_per_million: 1_500,
    },
  });
  assertEquals(put.status, 202, put.text);
  await reprice(h, { model });
  await h.work.idle();
  await h.worker.idle();
  const after = (await h.get(path)).json;
  assert(after.cost_usd > 10 * before.cost_usd);
  await assertRuns(h, sent.expected);
});

otlp.test("a trace without a closed root is open until it is silent, and a later span reopens it", async (h) => {
  const sent = await recordedExport("py-official");
  const [first, second] = bodiesOfOne(await recordedExport("py-openlit")).slice(7);
  const trace = (await recordedExport("py-openlit")).expected.runs[0]?.trace;
  const state = async () => {
    const run = (await h.getFinal(`/v1/runs/run_eu_${trace}`)).json;
    return [run.agent, run.status, run.closed_by, run.flags.includes("no_opening")];
  };
  await send(h, { ...sent, body: first as Uint8Array<ArrayBuffer> });
  assertEquals(await state(), [null, "running", null, false]);
  await becomeSilent(h);
  assertEquals(await state(), ["lit-demo", "success", "idle", false]);
  await send(h, { ...sent, body: second as Uint8Array<ArrayBuffer> });
  assertEquals(await state(), ["lit-demo", "running", null, false]);
  await becomeSilent(h);
  assertEquals(await state(), ["lit-demo", "success", "idle", false]);
});

/** A request in JSON with spans of one resource and instrumentation. */
function jsonBody(
  spans: readonly JsonFields[],
  resource: Readonly<Record<string, string>> = { "service.name": "shop" },
): Pick<RecordedExport, "contentType" | "body"> {
  const attributesOf = (fields: Readonly<Record<string, unknown>>) =>
    Object.entries(fields).map(([key, value]) => ({
      key,
      value: typeof value === "number" ? { intValue: value } : { stringValue: value },
    }));
  const sent = spans.map(({ attributes = {}, ...span }) => ({
    ...span,
    attributes: attributesOf(attributes as Record<string, unknown>),
  }));
  const body = {
    resourceSpans: [{
      resource: { attributes: attributesOf(resource) },
      scopeSpans: [{ scope: { name: "made" }, spans: sent }],
    }],
  };
  return {
    contentType: "application/json",
    body: new TextEncoder().encode(JSON.stringify(body)),
  };
}

function aSpan(n: number, fields: JsonFields = {}): JsonFields {
  const startNs = BigInt(NOON - 60_000 + n) * 1_000_000n;
  return {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: n.toString(16).padStart(16, "a"),
    name: "chat",
    startTimeUnixNano: String(startNs),
    endTimeUnixNano: String(startNs + 1_000_000n),
    attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o" },
    ...fields,
  };
}

const RUN = "run_eu_0af7651916cd43dd8448eb211c80319c";

otlp.test("an empty request is a success, and other media types are refused in JSON", async (h) => {
  const post = (type: string, body: string | Uint8Array) =>
    h.post("/v1/traces", body, { headers: { "Content-Type": type } });
  const empty = await post("application/x-protobuf", new Uint8Array());
  assertEquals([empty.status, empty.text], [200, ""]);
  assertEquals((await post("application/json; charset=utf-8", "{}")).text, "{}");
  const refused = await post("text/plain", "{}");
  assertEquals([refused.status, refused.json.code], [415, 3]);
  assert(refused.json.message.startsWith("unsupported_media_type "));
  const malformed = await post("application/x-protobuf", new Uint8Array([7]));
  assertEquals(malformed.status, 400);
  assertEquals(malformed.headers.get("content-type"), "application/x-protobuf");
  assert(malformed.text.includes("invalid_json"));
  const snake = await post("application/json", '{"resource_spans":[]}');
  assertEquals([snake.status, snake.json.partialSuccess.rejectedSpans], [200, "0"]);
  assertEquals(await h.usage(), 0);
});

otlp.test("a bad id among ten is rejected alone, and only what is stored counts", async (h) => {
  const spans = Array.from({ length: 10 }, (_, n) => aSpan(n + 1, n === 4 ? { spanId: "0" } : {}));
  for (const used of [9, 9]) {
    const { status, json } = await send(h, jsonBody(spans));
    assertEquals([status, json.partialSuccess.rejectedSpans], [200, "1"]);
    assertEquals(await h.usage(), used);
  }
  const logs = await send(h, jsonBody(spans.map((span) => ({ ...span, traceId: "" }))));
  assertEquals([logs.status, logs.json.code], [400, 3]);
});

otlp.test("539 spans of web requests make no run and count nothing", async (h) => {
  const spans = Array.from({ length: 539 }, (_, n) => aSpan(n + 1, { attributes: {} }));
  const { status, headers } = await send(h, jsonBody(spans));
  assertEquals([status, headers.get("runledger-dropped")], [200, "spans=539"]);
  assertEquals([await h.usage(), (await h.get(`/v1/runs/${RUN}`)).status], [0, 404]);
});

otlp.test("a run of 500 spans in one request is stored whole", async (h) => {
  const spans = Array.from({ length: 500 }, (_, n) =>
    aSpan(
      n + 1,
      n === 0 ? {} : {
        parentSpanId: "1".padStart(16, "a"),
      },
    ));
  const commit = h.store.writer.commit.bind(h.store.writer);
  const slices: boolean[] = [];
  using _commits = stub(h.store.writer, "commit", async (write) => {
    const version = await commit(write);
    if (write.sets?.some(({ key }) => key[0] === "events")) slices.push(version !== null);
    return version;
  });
  assertEquals((await send(h, jsonBody(spans))).status, 200);
  // The root comes first and closes the trace: each further slice still finds the ledger in memory,
  // and does not learn of it from a conflict.
  assertEquals(slices, Array(6).fill(true));
  const run = (await h.getFinal(`/v1/runs/${RUN}`)).json;
  assertEquals([run.usage.events, run.usage.llm_calls, run.status], [500, 500, "success"]);
  assertEquals(await h.usage(), 500);
});

otlp.test("compressed bodies are inflated within their limit", async (h) => {
  const gzip = async (bytes: Uint8Array<ArrayBuffer>) =>
    await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip")))
      .bytes();
  const sent = await recordedExport("py-traceloop");
  const packed = { ...sent, body: await gzip(sent.body) };
  const headers = { "Content-Encoding": "gzip" };
  assertEquals((await send(h, packed, { headers })).status, 200);
  const deflated = { ...sent, body: new Uint8Array(deflateSync(sent.body)) };
  const used = await h.usage();
  assertEquals(
    (await send(h, deflated, { headers: { "Content-Encoding": "deflate" } })).status,
    200,
  );
  assertEquals(await h.usage(), used);
  const { status, json } = await send(h, jsonBody([]), { headers: { "Content-Encoding": "br" } });
  assertEquals([status, json.message], [
    415,
    "unsupported_encoding Send the body uncompressed or with Content-Encoding: gzip, deflate",
  ]);
  const bomb = { ...sent, body: await gzip(new Uint8Array(100 * 1_048_576)) };
  assert(bomb.body.length < 200_000);
  assertEquals((await send(h, bomb, { headers })).status, 413);
  const large = { contentType: "application/json", body: new Uint8Array(4 * 1_048_576 + 1) };
  assertEquals((await send(h, large)).status, 413);
});

otlp.test("credentials as exporters send them work here, and only here", async (h) => {
  const token = await h.addKey({ kind: "ping_token", agent: "a" });
  const { key } = h;
  const accepted = [
    { Authorization: `Basic ${btoa(`pk-lf-1:${key}`)}` },
    { Authorization: `Basic ${btoa(`${key}:`)}` },
    { Authorization: `Bearer%20${key}` },
    { Authorization: key },
    { "x-api-key": key },
  ];
  const body = jsonBody([aSpan(1)]);
  for (const headers of accepted) {
    assertEquals(
      (await send(h, body, { key: null, headers })).status,
      200,
      JSON.stringify(headers),
    );
    const run = await h.post("/v1/runs", {}, { key: null, headers });
    const isBasicUser = "Authorization" in headers &&
      headers.Authorization === `Basic ${btoa(`${key}:`)}`;
    assertEquals(run.status, isBasicUser ? 400 : 401, JSON.stringify(headers));
  }
  const pinged = await send(h, body, { key: token });
  assertEquals([pinged.status, pinged.json.code], [401, 16]);
  assert(pinged.json.message.startsWith("scope_violation "));
  assertEquals((await send(h, body, { key: null })).status, 401);
});

otlp.test("other paths take traces too, and logs and metrics are answered and not stored", async (h) => {
  const { contentType, body } = jsonBody([aSpan(1)]);
  const headers = { "Content-Type": contentType };
  for (const prefix of ["/api/public/otel/v1", "/otel/v1"]) {
    assertEquals((await h.post(`${prefix}/traces`, body, { headers })).status, 200);
  }
  assertEquals(await h.usage(), 1);
  for (const signal of ["logs", "metrics", "logs"]) {
    const answer = await h.post(`/v1/${signal}`, "{}", { headers });
    assertEquals([answer.status, answer.text], [200, "{}"]);
  }
  assertEquals(h.log.filter((line) => line.includes("are not stored")).length, 1);
  assertEquals((await h.get("/v1/traces")).status, 405);
});

otlp.test("spans attached to a run add events to it, and calls of the run win over its trace", async (h) => {
  const other = "run_eu_11111111111111111111111111111111";
  const opening = { id: other, agent: "job", started_at: new Date(NOON).toISOString() };
  assertEquals((await h.post("/v1/runs", opening)).status, 202);
  const resource = { "service.name": "shop", "runledger.run_id": other };
  await send(h, jsonBody([aSpan(1), aSpan(2)], resource));
  const attached = (await h.getFinal(`/v1/runs/${other}`)).json;
  assertEquals([attached.agent, attached.status, attached.usage.events], ["job", "running", 2]);
  assertEquals((await h.get(`/v1/runs/${RUN}`)).status, 404);
  await send(h, jsonBody([aSpan(3)]));
  assertEquals((await h.getFinal(`/v1/runs/${RUN}`)).json.agent, "shop");
  assertEquals((await h.post("/v1/runs", { ...opening, id: RUN })).status, 202);
  assertEquals((await h.getFinal(`/v1/runs/${RUN}`)).json.agent, "job");
  const finish = { status: "failed", finished_at: new Date(NOON).toISOString() };
  assertEquals((await h.post(`/v1/runs/${RUN}/finish`, finish)).status, 202);
  const finished = (await h.getFinal(`/v1/runs/${RUN}`)).json;
  assertEquals([finished.status, finished.closed_by], ["failed", "finish"]);
});

otlp.test("beyond the limit of agents a trace is stored without its agent, and shows it", async (h) => {
  const { key } = await h.addTeam("free");
  let n = 0;
  let run: Answer["json"] = null;
  do {
    n++;
    const traceId = n.toString(16).padStart(32, "c");
    const spans = [aSpan(n, { traceId })];
    const { status, headers } = await send(h, jsonBody(spans, { "service.name": `s${n}` }), {
      key,
    });
    assertEquals([status, headers.get("runledger-dropped")], [200, "metadata=1"]);
    run = (await h.getFinal(`/v1/runs/run_eu_${traceId}`, { key })).json;
  } while (run.agent !== null && n < 1_000);
  assert(n > 1 && n < 1_000);
  assertEquals([run.agent, run.status, run.flags.includes("agent_cap")], [null, "success", true]);
});

otlp.test("content stays out with the header, and spans of a deleted run are rejected", async (h) => {
  const marker = "MARKER-7f3a";
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"${marker}"}]}]`,
    "gen_ai.output.messages": marker,
    "input.value": marker,
  };
  const status = { code: 2, message: marker };
  const body = jsonBody([aSpan(1, { attributes, status })]);
  const headers = { "X-Runledger-Content": "drop" };
  assertEquals((await send(h, body, { headers })).status, 200);
  assertEquals((await h.dump()).filter((line) => line.includes(marker)), []);
  const dropped = (await h.getFinal(`/v1/runs/${RUN}`)).json.events[0];
  assertEquals([dropped.data.model, dropped.data.error], ["gpt-4o", "error"]);
  assertEquals((await h.request("DELETE", `/v1/runs/${RUN}`)).status < 300, true);
  await h.work.idle();
  const late = await send(h, jsonBody([aSpan(2)]));
  assertEquals([late.status, late.json.partialSuccess.rejectedSpans], [200, "1"]);
});

otlp.test("goal, output and error are read from the spans, also by lists and checks, and expire", async (h) => {
  const check = { expression: 'goal == "a table" && output.table == 4' };
  assertEquals((await h.request("PUT", "/v1/checks/table", { body: check })).status, 202);
  const root = aSpan(1, {
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"a table"}]}]',
      "output.value": '{"table":4}',
    },
    status: { code: 2, message: "no table" },
  });
  const parentSpanId = root.spanId;
  await send(h, jsonBody([aSpan(2, { parentSpanId }), aSpan(3, { parentSpanId })]));
  await send(h, jsonBody([root]));
  const read = async () => (await h.getFinal(`/v1/runs/${RUN}`)).json;
  await h.work.idle();
  const { goal, output, note, checks } = await read();
  assertEquals([goal, output, note], ["a table", { table: 4 }, "no table"]);
  assertEquals(checks.map(({ status }: Answer["json"]) => status), ["pass"]);
  const listed = (await h.get("/v1/runs?text=a%20table&error=no%20table")).json;
  assertEquals(listed.runs.map(({ id }: Answer["json"]) => id), [RUN]);
  h.nowMs += 100 * 24 * 3_600_000;
  await h.sweep.sweepNow();
  const later = await read();
  assertEquals([later.goal, later.output, later.note], [null, null, null]);
});

Deno.test("mangled bodies are refused without a trace, or stored with exact totals", async () => {
  const statuses = await sendMangled(400, String(SEED));
  assert((statuses.get(200) ?? 0) > 20 && (statuses.get(400) ?? 0) > 20, Deno.inspect(statuses));
});
