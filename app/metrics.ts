/** The metrics of the service: of its requests, its store and its process. */
import type { Environment } from "../domain/core/environment.ts";
import type { CheckMetrics } from "../runtime/check_metrics.ts";
import type { DeliveryMetrics } from "../runtime/delivery_metrics.ts";
import { RequestMetrics } from "../runtime/request_metrics.ts";
import { gauge, type MetricFamily } from "../runtime/metric_text.ts";
import { storeMetrics } from "../kv/metrics/store.ts";
import type { Store } from "../kv/store.ts";
import type { Metrics } from "../routes/http/context.ts";

/** Sources of metrics. */
export interface MetricsDeps {
  readonly store: Store;
  readonly environment: Environment;
  /** Counts of deliveries. */
  readonly deliveries: DeliveryMetrics;
  /** Counts of results of checks. */
  readonly checks: CheckMetrics;
  /** Metrics of the process; none when absent. */
  readonly processFamilies?: () => readonly MetricFamily[];
}

/** Counts requests and collects all other metrics. */
export function createMetrics(
  { store, environment, deliveries, checks, processFamilies = () => [] }: MetricsDeps,
): Metrics {
  const requests = new RequestMetrics(store.memory.bytesMax("metrics"));
  store.memory.register("metrics", () => requests.bytes);
  return {
    requests,
    ofProcess: async () => [
      gauge(
        "runledger_http_requests_in_flight",
        "Requests in progress.",
        requests.inFlight,
      ),
      ...await storeMetrics(store, environment.now()),
      deliveries.family(),
      checks.family(),
      ...processFamilies(),
    ],
  };
}
