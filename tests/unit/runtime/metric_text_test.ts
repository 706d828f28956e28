import { assertEquals } from "@std/assert";
import { Histogram, type MetricFamily, metricsText } from "../../../runtime/metrics.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";

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
