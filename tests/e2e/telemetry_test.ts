/** What the runtime tells an OpenTelemetry collector of the program, switched on by its environment. */
import { assert, assertEquals } from "@std/assert";
import { aHeartbeat } from "../support/builders.ts";
import { OtlpReceiver } from "../support/otlp.ts";
import { Process } from "../support/process.ts";
import { withFolder } from "../support/temp_store.ts";

const KEY = `apk_eu_${"5e".repeat(16)}`;

Deno.test({
  name: "OpenTelemetry: spans and metrics of requests arrive at a collector, without a secret",
  // A runtime that sends nothing must fail the test, not hang it.
  sanitizeOps: false,
  async fn() {
    await withFolder(async (folder) => {
      await using receiver = new OtlpReceiver();
      await using process = await Process.start({
        RUNLEDGER_KV: `${folder}/test.kv`,
        RUNLEDGER_KEY: KEY,
        OTEL_DENO: "true",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_SERVICE_NAME: "runledger",
        OTEL_BSP_SCHEDULE_DELAY: "50",
        OTEL_METRIC_EXPORT_INTERVAL: "100",
      });
      const answer = await fetch(`${process.url}/v1/heartbeats`, {
        method: "POST",
        headers: { Authorization: `Bearer ${KEY}` },
        body: JSON.stringify(aHeartbeat(1)),
      });
      assertEquals(answer.status, 202, await answer.text());
      const isOurs = ({ attributes }: { attributes: Readonly<Record<string, unknown>> }) =>
        attributes["url.path"] === "/v1/heartbeats";
      await receiver.until(() => receiver.spans.some(isOurs));
      const span = receiver.spans.find(isOurs);
      console.error(JSON.stringify(span));
      assertEquals(span?.service, "runledger");
      await receiver.until(() => receiver.metrics.has("http.server.request.duration"));
      console.error([...receiver.metrics]);
      assertEquals((await process.stop("SIGINT")).code, 0);
      assert(!JSON.stringify([receiver.spans, receiver.logs]).includes(KEY));
    });
  },
});
