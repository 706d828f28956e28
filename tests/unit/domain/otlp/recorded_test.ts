/**
 * Recorded exports of real packages: each gives the runs, calls and tokens that can be known of it.
 * `tests/push/domain/otlp/orders_test.ts` sends them in 1,000 orders.
 */
import { assert, assertEquals } from "@std/assert";
import type { Span } from "../../../../domain/otlp/span.ts";
import {
  collect,
  type ExpectedExport,
  type ExportResult,
  keyOf,
  recordedExports,
  resultOf,
  runsOf,
  spansOf,
} from "../../../support/builders/spans.ts";

const EXPORTS = await recordedExports();

/** One call in two traces, which only a request with both of them can show. */
const IN_TWO_TRACES = "dbl";

function resultOfRequests(requests: readonly (readonly Span[])[]): ExportResult {
  return resultOf(requests.reduce((runs, spans) => collect(runs, runsOf(spans)), new Map()));
}

function assertExpected(result: ExportResult, { runs, total, by_model }: ExpectedExport): void {
  const shown = result.runs.map(({ trace, agent, status, calls, tools, failedTools }) => ({
    ...{ trace, agent, status, calls, tools, failed_tools: failedTools },
  }));
  const expected = runs
    .map(({ sub_agents: _, labels: __, ...run }) => run)
    .toSorted((a, b) => a.trace < b.trace ? -1 : 1);
  assertEquals(shown, expected);
  for (const { trace, labels, sub_agents } of runs) {
    const run = result.runs.find((one) => one.trace === trace);
    for (const [key, value] of Object.entries(labels)) assertEquals(run?.labels[key], value, key);
    for (const agent of sub_agents) assert(run?.agents.includes(agent), `no agent ${agent}`);
  }
  assertEquals(result.total, total);
  const models = Object.entries(by_model).map(([model, counts]) => [keyOf(model), counts]);
  assertEquals(result.byModel, Object.fromEntries(models));
}

Deno.test("there is a recorded export for each product", () => {
  assertEquals(EXPORTS.length, 31);
});

for (const sent of EXPORTS) {
  const { name, expected } = sent;
  const spans = spansOf(sent);

  Deno.test(`${name}: as sent, reversed and doubled, all that can be known is known`, () => {
    assertExpected(resultOfRequests([spans]), expected);
    assertExpected(resultOfRequests([spans.toReversed()]), expected);
    assertExpected(resultOfRequests([spans, spans]), expected);
    assertExpected(resultOfRequests([[...spans, ...spans]]), expected);
  });

  if (name === IN_TWO_TRACES) continue;

  Deno.test(`${name}: one span a request says the same`, () => {
    assertExpected(resultOfRequests(spans.map((span) => [span])), expected);
  });
}
