/** Metrics as text, and the counters of requests. */
import { assert, assertEquals } from "@std/assert";
import {
  Histogram,
  type MetricFamily,
  metricsText,
  RequestMetrics,
} from "../../../runtime/metrics.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";
import type { TeamId } from "../../../domain/core/ids.ts";

Deno.test("text: each family has its help, type and samples, byte for byte", () => {
  const sizes = new Histogram([1, 2.5]);
  for (const value of [0.5, 1, 2, 9]) sizes.observe(value);
  const families: MetricFamily[] = [
    {
      type: "counter",
      name: "a_total",
      help: "One.",
      samples: [{ value: 3 }, { labels: { x: "1", y: "2" }, value: 1e21 }],
    },
    { type: "gauge", name: "b", help: "Two.", samples: [] },
    {
      type: "histogram",
      name: "c",
      help: "Three.",
      samples: [{ labels: { x: "1" }, value: sizes }],
    },
  ];
  assertEquals(
    metricsText(families),
    [
      "# HELP a_total One.",
      "# TYPE a_total counter",
      "a_total 3",
      'a_total{x="1",y="2"} 1e+21',
      "# HELP b Two.",
      "# TYPE b gauge",
      "# HELP c Three.",
      "# TYPE c histogram",
      'c_bucket{x="1",le="1"} 2',
      'c_bucket{x="1",le="2.5"} 3',
      'c_bucket{x="1",le="+Inf"} 4',
      'c_sum{x="1"} 12.5',
      'c_count{x="1"} 4',
      "",
    ].join("\n"),
  );
});

Deno.test("text: quotes, backslashes and newlines in labels and help round-trip", () => {
  const odd = 'a "quoted" back\\slash\nline, with {braces}';
  const text = metricsText([
    {
      type: "gauge",
      name: "odd",
      help: "Two\nlines \\ of help.",
      samples: [{ labels: { odd }, value: 1 }],
    },
  ]);
  assertEquals(new Scrape(text).value("odd", { odd }), 1);
});

Deno.test("histogram: every value is in one bucket, and bounds are inclusive", () => {
  const sizes = new Histogram([1, 2]);
  for (const value of [0, 1, 1.0001, 2, 3, Infinity]) sizes.observe(value);
  assertEquals(sizes.counts, [2, 2, 2]);
});

const TOTAL = "runledger_http_requests_total";

/** Enough for about 1,700 teams with one route each. */
const BYTES_MAX = 2_000_000;

function scrape(metrics: RequestMetrics, team: TeamId | null): Scrape {
  return new Scrape(metricsText(metrics.families(team)));
}

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
