/** The metrics of the service: of its requests, its store and its process. */
import { CHANNEL_TYPES } from "../domain/channels/channel.ts";
import type { DeliveryState } from "../domain/channels/delivery.ts";
import { VERSION } from "../domain/core/version.ts";
import {
  counter,
  gauge,
  Histogram,
  histogram,
  LabeledCounter,
  type MetricFamily,
  RequestMetrics,
} from "../runtime/metrics.ts";
import type { CallMetrics } from "../kv/judges/calls.ts";
import { storeMetrics } from "../kv/metrics/store_metrics.ts";
import type { Metrics } from "../routes/http/context.ts";
import type { ServiceOptions } from "./service_options.ts";

import process from "node:process";

/** Counted states: a try ends in one of them, or a delivery ends without a try. */
const COUNTED: readonly DeliveryState[] = ["delivered", "retrying", "dead", "cancelled"];

/** Creates the counter of what happens to deliveries, by type of channel. */
export function createDeliveryCounter(): LabeledCounter {
  return new LabeledCounter(
    "runledger_deliveries_total",
    "Messages to channels by result: delivered, to be tried again, given up, or cancelled.",
    CHANNEL_TYPES.flatMap((channel_type) => COUNTED.map((outcome) => ({ channel_type, outcome }))),
  );
}

/** Sources of metrics. */
interface MetricsDeps extends Pick<ServiceOptions, "store" | "environment" | "processFamilies"> {
  readonly deliveries: LabeledCounter;
  readonly checks: LabeledCounter;
  readonly judges: CallMetrics;
}

/** Counts requests and collects all other metrics. */
export function createMetrics(
  { store, environment, deliveries, checks, judges, processFamilies = () => [] }: MetricsDeps,
): Metrics {
  const requests = new RequestMetrics(store.memory.bytesMax("metrics"));
  store.memory.register("metrics", () => requests.bytes);
  return {
    requests,
    ofProcess: async () => [
      gauge("runledger_http_requests_in_flight", "Requests in progress.", requests.inFlight),
      ...await storeMetrics(store, environment.now()),
      deliveries.family(),
      checks.family(),
      judges.calls.family(),
      judges.cost.family(),
      ...processFamilies(),
    ],
  };
}

/** Milliseconds between samples of the event loop. */
const SAMPLE_MS = 500;

/** Histogram bounds of the timer delay, in seconds. */
const LAG_BOUNDS: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Samples processor time, memory and the event loop, from its creation until it is stopped. */
export class ProcessMetrics {
  readonly #lag = new Histogram(LAG_BOUNDS);
  readonly #startedMs = Date.now() - performance.now();
  readonly #region: string;
  readonly #timer: ReturnType<typeof setInterval>;
  #expectedMs: number;

  /**
   * Starts sampling.
   *
   * @param region region of the credentials the process accepts
   */
  constructor(region: string) {
    this.#region = region;
    this.#expectedMs = performance.now() + SAMPLE_MS;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#lag.observe(Math.max(0, nowMs - this.#expectedMs) / 1_000);
      this.#expectedMs = nowMs + SAMPLE_MS;
    }, SAMPLE_MS);
    Deno.unrefTimer(this.#timer);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Returns the current metrics. */
  families(): MetricFamily[] {
    const { rss, heapTotal, heapUsed, external } = Deno.memoryUsage();
    const { user, system } = process.cpuUsage();
    const { deno, v8 } = Deno.version;
    const build = { version: VERSION, deno, v8, region: this.#region };
    return [
      gauge("runledger_build_info", "Always 1; the labels describe the build.", [{
        labels: build,
        value: 1,
      }]),
      counter(
        "process_cpu_seconds_total",
        "User and system processor time.",
        (user + system) / 1e6,
      ),
      gauge(
        "process_start_time_seconds",
        "When the process started, unix seconds.",
        this.#startedMs / 1_000,
      ),
      gauge("process_uptime_seconds", "Time since the process started.", performance.now() / 1_000),
      gauge("process_resident_memory_bytes", "Memory of the process.", rss),
      gauge("process_heap_bytes", "Memory allocated for the JavaScript heap.", heapTotal),
      gauge("runledger_heap_used_bytes", "Used part of the JavaScript heap.", heapUsed),
      gauge("runledger_external_bytes", "Memory of buffers outside the heap.", external),
      histogram(
        "runledger_event_loop_lag_seconds",
        "Delay of a timer that is due twice a second.",
        this.#lag,
      ),
    ];
  }
}
