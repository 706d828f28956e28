import { assert, assertEquals } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { metricsText, RequestMetrics } from "../../../runtime/metrics.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";

const TOTAL = "runledger_http_requests_total";

/** Enough for about 1,700 teams with one route each. */
const BYTES_MAX = 2_000_000;

function scrape(metrics: RequestMetrics, team: TeamId | null): Scrape {
  return new Scrape(metricsText(metrics.families(team)));
}

Deno.test("requests: each is counted once in total and once for its team", () => {
  const metrics = new RequestMetrics(BYTES_MAX);
  const count = metrics.route("GET", "/a/:id");
  const [one, two] = ["one", "two"] as TeamId[];
  count(one, 200, 0.001, undefined);
  count(one, 404, 0.002, "not_found");
  count(two, 200, 0.003, undefined);
  count(undefined, 401, 0.004, "invalid_credential");
  const labels = { method: "GET", route: "/a/:id" };
  const reported = (of: Scrape) =>
    ["200", "401", "404"].map((status) => of.value(TOTAL, { ...labels, status }));
  const all = scrape(metrics, null);
  assertEquals(reported(all), [2, 1, 1]);
  assertEquals(reported(scrape(metrics, one ?? null)), [1, null, 1]);
  assertEquals(reported(scrape(metrics, two ?? null)), [1, null, null]);
  assertEquals(all.value("runledger_http_request_duration_seconds_count", labels), 4);
  assertEquals(all.value("runledger_http_request_duration_seconds_sum", labels), 0.01);
  assertEquals(all.value("runledger_http_errors_total", { error: "invalid_credential" }), 1);
  assertEquals(all.value("runledger_http_errors_total", { error: "rate_limit" }), 0);
});

Deno.test("requests: an active team is never evicted, and the number of teams is bounded", () => {
  const metrics = new RequestMetrics(BYTES_MAX);
  const count = metrics.route("GET", "/a");
  const busy = "busy" as TeamId;
  for (let n = 0; n < 10_000; n++) {
    count(`team${n}` as TeamId, 200, 0, undefined);
    count(busy, 200, 0, undefined);
  }
  const labels = { method: "GET", route: "/a", status: "200" };
  const of = (team: string | null) => scrape(metrics, team as TeamId | null).value(TOTAL, labels);
  assertEquals([of("busy"), of("team9999"), of(null)], [10_000, 1, 20_000]);
  // Every tenth team: reading one takes as long as counting a hundred requests.
  const retained = Array.from({ length: 1_000 }, (_, n) => of(`team${10 * n}`)).filter((one) =>
    one !== null
  );
  assertEquals(retained.length <= 200 && retained.length >= 70, true, String(retained.length));
});

Deno.test("requests: the counters of teams are bounded in bytes, whatever the requests and their order", () => {
  const metrics = new RequestMetrics(BYTES_MAX);
  const routes = Array.from({ length: 90 }, (_, n) => metrics.route("GET", `/${n}`));
  const sendRequest = (n: number) => {
    for (let team = 0; team < 1_500; team++) {
      routes[n % routes.length]?.(`team${team}` as TeamId, 200 + n, 0, "not_found");
      assert(metrics.bytes <= BYTES_MAX, `${metrics.bytes} bytes`);
    }
  };
  for (let n = 0; n < 100; n++) sendRequest(n);
  assert(metrics.bytes > BYTES_MAX / 4);
  assertEquals(scrape(metrics, null).sum(TOTAL), 150_000);
});
