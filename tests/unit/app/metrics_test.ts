/** Process metrics describe this process. */
import { assert, assertEquals } from "@std/assert";
import { VERSION } from "../../../domain/core/version.ts";
import { metricsText } from "../../../runtime/metrics.ts";
import { ProcessMetrics } from "../../../app/metrics.ts";
import { cpuMs } from "../../support/oracles/durations.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";

Deno.test("process: memory, uptime, build and event loop delay are reported", async () => {
  const metrics = new ProcessMetrics("eu");
  try {
    const scrape = () => new Scrape(metricsText(metrics.families()));
    const before = scrape();
    const [endMs, endCpuMs] = [performance.now() + 800, cpuMs() + 200];
    while (performance.now() < endMs || cpuMs() < endCpuMs);
    // The sample that became due meanwhile runs first.
    await new Promise((resolve) => setTimeout(resolve));
    const after = scrape();
    const grown = (name: string) => (after.value(name) ?? NaN) - (before.value(name) ?? NaN);
    assert(grown("process_cpu_seconds_total") > 0.1);
    assert(grown("process_uptime_seconds") >= 0.8);
    assertEquals(grown("process_start_time_seconds"), 0);
    assertEquals(grown("runledger_event_loop_lag_seconds_count"), 1);
    assert(grown("runledger_event_loop_lag_seconds_sum") > 0.25);
    const rss = after.value("process_resident_memory_bytes") ?? 0;
    assert(rss > 10_000_000 && rss > (after.value("runledger_heap_used_bytes") ?? Infinity));
    const { deno, v8 } = Deno.version;
    assertEquals(
      after.value("runledger_build_info", { version: VERSION, deno, v8, region: "eu" }),
      1,
    );
  } finally {
    metrics.stop();
  }
});
