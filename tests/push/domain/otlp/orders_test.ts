/** Recorded exports in 1,000 orders, splits into requests and repeats each: one result. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Span } from "../../../../domain/otlp/span.ts";
import {
  collect,
  recordedExports,
  resultOf,
  runsOf,
  spansOf,
} from "../../../support/builders/spans.ts";
import { SEED } from "../../../support/harness/seed.ts";

/** One call in two traces, which only a request with both of them can show. */
const IN_TWO_TRACES = "dbl";

function resultOfRequests(requests: readonly (readonly Span[])[]) {
  return resultOf(requests.reduce((runs, spans) => collect(runs, runsOf(spans)), new Map()));
}

for (const sent of await recordedExports()) {
  if (sent.name === IN_TWO_TRACES) continue;
  Deno.test(`${sent.name}: order, requests and repeats change nothing`, () => {
    const spans = spansOf(sent);
    const whole = resultOfRequests([spans]);
    const requests = orderedRequests(spans);
    fc.assert(
      fc.property(requests, (split) => assertEquals(resultOfRequests(split), whole)),
      { seed: SEED, numRuns: 1_000 },
    );
  });
}

/** All spans in any order, split into requests anywhere, some of them sent again. */
function orderedRequests(spans: readonly Span[]) {
  const order = fc.shuffledSubarray([...spans], { minLength: spans.length });
  const again = fc.subarray([...spans], { maxLength: Math.min(3, spans.length) });
  const cuts = fc.array(fc.nat(spans.length), { maxLength: 6 });
  return fc.tuple(order, again, cuts).map(([sent, repeated, at]) => {
    const all = [...sent, ...repeated];
    const bounds = [0, ...at.toSorted((a, b) => a - b), all.length];
    const split = bounds.slice(1).map((end, i) => all.slice(bounds[i], end));
    assert(split.flat().length === all.length);
    return split.filter((request) => request.length > 0);
  });
}
