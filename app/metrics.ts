/** The metrics of the service: of its requests, its store and its process. */
import type { CheckMetrics } from "../runtime/check_metrics.ts";
import type { DeliveryMetrics } from "../runtime/delivery_metrics.ts";
import { RequestMetrics } from "../runtime/request_metrics.ts";
import { gauge } from "../runtime/metric_text.ts";
import { storeMetrics } from "../kv/metrics/store.ts";
import type { Metrics } from "../routes/http/context.ts";
import type { ServiceOptions } from "./service_options.ts";

/** Sources of metrics. */
interface MetricsDeps extends Pick<ServiceOptions, "store" | "environment" | "processFamilies"> {
  readonly deliveries: DeliveryMetrics;
  readonly checks: CheckMetrics;
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
