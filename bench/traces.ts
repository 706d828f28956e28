/**
 * Compares the processor time of a complete run from one request of OpenTelemetry with that of the same
 * run from three JSON requests: an agent and ten model calls. Then measures openings next to batches as
 * exporters send them.
 */
import { PbfWriter } from "pbf";
import { number, table } from "../tools/table.ts";
import {
  call,
  CONNECTIONS,
  inTurn,
  type Load,
  measure,
  type Measured,
  RUN_EVENTS,
} from "./load.ts";
import { type Side, startService, untilIdle, usageOf } from "./process.ts";
import { atLeast, type Bar, type BenchOptions, median, print, ratios, say } from "./report.ts";
import { AUTHORIZATION } from "./service.ts";

/** Requests of clients at a time. */
const CLIENTS = 16;

const ROUNDS = 7, RUNS = 1_000, RATIO_MIN = 1.5;

/**
 * Seconds of each load before the first round: for half a minute V8 compiles the code that is hot, beside
 * what is measured.
 */
const WARM_UP_SECONDS = 20;

/** Runs in a batch of about 512 spans, the milliseconds between two, and their bar. */
const BATCH = { runs: 46, pauseMs: 1_000, rateMin: 0.9 } as const;

/** Measures both ways in turn. */
export async function bench(
  { folder, rounds = ROUNDS, runs = RUNS, seconds = 3, quick }: BenchOptions,
): Promise<Bar[]> {
  await using side = await startService(`${folder}/traces.kv`);
  for (const send of quick ? [] : [sendJson, sendTrace]) {
    say("traces: warm-up …");
    const endMs = performance.now() + 1_000 * WARM_UP_SECONDS;
    await sendRuns(side, () => performance.now() < endMs, send);
  }
  const { json, trace } = await inTurn("traces", rounds, {
    json: () => cpuUs(side, runs, sendJson),
    trace: () => cpuUs(side, runs, sendTrace),
  });
  const cells = [json, trace].map((all) => number(median(all), 0));
  print(table(["three JSON requests, CPU µs a run", "one request of spans"], [cells]));
  const load: Load = { call: "open", connections: CONNECTIONS, seconds };
  const opens = await inTurn("opens", rounds, {
    alone: () => measure([side], load),
    beside: () => besideBatches(side, () => measure([side], load)),
  });
  const rateOf = ({ requestsPerSecond }: Measured) => requestsPerSecond;
  return [
    atLeast("runs a core-second, spans to JSON", RATIO_MIN, ratios(json, trace, (us) => us)),
    atLeast(
      "opens a second, beside 506 spans each second to alone",
      BATCH.rateMin,
      ratios(opens.beside, opens.alone, rateOf),
    ),
  ];
}

/** Sends batches of spans until some work has ended. */
async function besideBatches<Result>(side: Side, work: () => Promise<Result>): Promise<Result> {
  let hasEnded = false;
  const sending = (async () => {
    while (!hasEnded) {
      const bodies = Array.from(
        { length: BATCH.runs },
        () => bodyOf(crypto.getRandomValues(new Uint8Array(16))),
      );
      // Requests of protobuf that are joined are one request.
      const batch = new Uint8Array(await new Blob(bodies).arrayBuffer());
      await postSpans(side, batch);
      await new Promise((resolve) => setTimeout(resolve, BATCH.pauseMs));
    }
  })();
  try {
    return await work();
  } finally {
    hasEnded = true;
    await sending;
  }
}

/** Sends a run. */
type Send = (side: Side, trace: Uint8Array<ArrayBuffer>) => Promise<void>;

/** Sends runs from all clients, as long as there is a next one. */
async function sendRuns(side: Side, hasNext: () => boolean, send: Send): Promise<void> {
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    while (hasNext()) await send(side, crypto.getRandomValues(new Uint8Array(16)));
  }));
}

/** Returns the microseconds of processor time a run, with the work after the answers. */
async function cpuUs(side: Side, runs: number, send: Send): Promise<number> {
  await untilIdle(side.pid);
  const before = await usageOf(side.pid);
  let left = runs;
  await sendRuns(side, () => left-- > 0, send);
  await untilIdle(side.pid);
  const after = await usageOf(side.pid);
  return 1e6 * ((after?.cpuSeconds ?? NaN) - (before?.cpuSeconds ?? NaN)) / runs;
}

async function sendJson(side: Side, trace: Uint8Array): Promise<void> {
  const id = `run_eu_${trace.toHex()}`;
  const at = new Date().toISOString();
  await call(side, "/v1/runs", { id, agent: "researcher", started_at: at });
  const events = Array.from({ length: RUN_EVENTS }, (_, n) => ({
    id: `evt_eu_${trace.subarray(0, 12).toHex()}${n.toString(16).padStart(8, "0")}`,
    type: "llm_call",
    ts: at,
    data: { provider: "openai", model: "gpt-4o", input_tokens: 120, output_tokens: 30 },
  }));
  await call(side, `/v1/runs/${id}/events`, { events });
  await call(side, `/v1/runs/${id}/finish`, { status: "success", finished_at: at });
}

function sendTrace(side: Side, trace: Uint8Array<ArrayBuffer>): Promise<void> {
  return postSpans(side, bodyOf(trace));
}

async function postSpans({ url }: Side, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const headers = { ...AUTHORIZATION, "Content-Type": "application/x-protobuf" };
  const response = await fetch(`${url}/v1/traces`, { method: "POST", body, headers });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`/v1/traces: ${response.status}`);
}

type Attributes = Readonly<Record<string, string | number>>;

const AGENT: Attributes = {
  "gen_ai.operation.name": "invoke_agent",
  "gen_ai.agent.name": "researcher",
};

const CALL: Attributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-4o",
  "gen_ai.usage.input_tokens": 120,
  "gen_ai.usage.output_tokens": 30,
};

/** Writes the spans of a run: an agent, and the calls below it. */
function bodyOf(trace: Uint8Array): Uint8Array<ArrayBuffer> {
  const startMs = Date.now();
  const writeSpan = (n: number, pbf: PbfWriter) => {
    pbf.writeBytesField(1, trace);
    pbf.writeBytesField(2, spanId(n));
    if (n > 0) pbf.writeBytesField(4, spanId(0));
    pbf.writeStringField(5, n > 0 ? "chat gpt-4o" : "invoke_agent researcher");
    pbf.writeFixed64Field(7, startMs * 1e6);
    pbf.writeFixed64Field(8, (startMs + 1) * 1e6);
    writeAttributes(9, n > 0 ? CALL : AGENT, pbf);
  };
  const request = new PbfWriter();
  request.writeMessage(1, (_, ofResource) => {
    ofResource.writeMessage(1, (attributes, pbf) => writeAttributes(1, attributes, pbf), {
      "service.name": "researcher",
    });
    ofResource.writeMessage(2, (_, ofScope) => {
      ofScope.writeMessage(1, (name, pbf) => pbf.writeStringField(1, name), "made");
      for (let n = RUN_EVENTS; n >= 0; n--) ofScope.writeMessage(2, writeSpan, n);
    }, null);
  }, null);
  return new Uint8Array(request.finish());
}

function spanId(n: number): Uint8Array {
  return new Uint8Array(8).fill(n + 1);
}

function writeAttributes(field: number, attributes: Attributes, to: PbfWriter): void {
  for (const attribute of Object.entries(attributes)) {
    to.writeMessage(field, ([key, value], pbf) => {
      pbf.writeStringField(1, key);
      pbf.writeMessage(2, (value, inner) => {
        if (typeof value === "string") inner.writeStringField(1, value);
        else inner.writeVarintField(3, value);
      }, value);
    }, attribute);
  }
}
