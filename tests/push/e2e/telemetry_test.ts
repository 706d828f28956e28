/** Tests the runtime's OpenTelemetry export, which environment variables enable. */
import { assert, assertEquals } from "@std/assert";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { OtlpReceiver, type Span } from "../../support/fakes/otlp.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

/** Variables from `docs/MONITORING.md`, with intervals that a test can wait for. */
const TELEMETRY = {
  OTEL_DENO: "true",
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  OTEL_SERVICE_NAME: "runledger",
  OTEL_BSP_SCHEDULE_DELAY: "50",
  OTEL_METRIC_EXPORT_INTERVAL: "100",
};

/** Describes the request of a span. */
function requestOf({ name, attributes }: Span) {
  const status = Number(attributes["http.response.status_code"]);
  return [name, attributes["url.path"], attributes["url.query"], status];
}

inFolder.test("OpenTelemetry: spans and metrics of requests arrive at a collector, without a secret", async (folder) => {
  await using receiver = new OtlpReceiver();
  const settings = { RUNLEDGER_KV: `${folder}/test.kv`, ...TELEMETRY };
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  await using process = await Process.start({ ...settings, ...endpoint });
  // The first key is generated and shown on the terminal alone.
  const [, key = ""] = await process.says(/shown only now: (apk_eu_[0-9a-f]{32})\n/) ?? [];
  const headers = { Authorization: `Bearer ${key}` };
  const calls: [string, RequestInit][] = [
    ["/v1/heartbeats", { method: "POST", headers, body: JSON.stringify(aHeartbeat(1)) }],
    [`/v1/runs/${runId(1)}`, { headers }],
    ["/v1/usage?month=x", { headers }],
  ];
  for (const [path, init] of calls) {
    const answer = await fetch(process.url + path, init);
    await answer.body?.cancel();
  }
  await receiver.until(() => receiver.spans.length === calls.length);
  assertEquals(receiver.spans.map(requestOf), [
    ["POST", "/v1/heartbeats", "", 202],
    ["GET", `/v1/runs/${runId(1)}`, "", 200],
    ["GET", "/v1/usage", "month=x", 400],
  ]);
  assertEquals(new Set(receiver.spans.map(({ service }) => service)), new Set(["runledger"]));
  const metrics = ["http.server.request.duration", "http.server.active_requests"];
  await receiver.until(() => metrics.every((name) => receiver.metrics.has(name)));
  assertEquals((await process.stop("SIGINT")).code, 0);
  assert(key !== "" && !receiver.texts.some((text) => text.includes(key)));
});
