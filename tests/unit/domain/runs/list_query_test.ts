import { assertEquals } from "@std/assert";
import type { RunId } from "../../../../domain/core/ids.ts";
import { isSearch } from "../../../../domain/runs/list_filter.ts";
import { parseRunsQuery, type RunsCursor } from "../../../../domain/runs/list_query.ts";
import { runId } from "../../../support/builders/requests.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;
const AFTER = { at: NOW - 5, run: runId(1) as RunId };
const MIDNIGHT = Date.UTC(2026, 0, 31);

/** Parses a query whose cursors are plain JSON. */
function valueOf(text: string) {
  const cursorOf = (cursor: string): RunsCursor | null =>
    cursor === "old" ? { after: AFTER, from: NOW - 3 * DAY_MS } : null;
  return parseRunsQuery(text, NOW, cursorOf);
}

Deno.test("runs query: no parameters select every run, 50 per page", () => {
  assertEquals(valueOf(""), {
    query: { from: null, to: null },
    isWindowDefault: false,
    after: null,
    limit: 50,
  });
});

Deno.test("runs query: a day includes all its hours, an instant is exact to the millisecond", () => {
  const rangeOf = (text: string) => {
    const { from, to } = valueOf(text).query;
    return [from, to];
  };
  assertEquals(rangeOf("from=2026-01-31&to=2026-01-31"), [MIDNIGHT, MIDNIGHT + DAY_MS]);
  const instants = "from=2026-01-31T00:00:00.001Z&to=2026-01-31T00:00:00.002Z";
  assertEquals(rangeOf(instants), [MIDNIGHT + 1, MIDNIGHT + 2]);
  assertEquals(rangeOf("to=2026-01-31"), [null, MIDNIGHT + DAY_MS]);
});

Deno.test("runs query: only a query without an index gets a default window, and none if a range is sent", () => {
  const none = [
    "agent=a&status=failed&customer_id=c&feature=f&kind=run&model=m&has=late",
    `q=${runId(1)}`,
  ];
  for (const text of [...none, "min_cost_usd=3", "q=run_eu&from=2020-01-01", "q=a&to=2030-01-01"]) {
    assertEquals(valueOf(text).isWindowDefault, false, text);
  }
  for (const text of ["q=run_eu", "customer_id=(unattributed)", "feature=(unattributed)"]) {
    const { query, isWindowDefault } = valueOf(text);
    assertEquals([isWindowDefault, query.from, query.to], [true, NOW - DAY_MS, null], text);
  }
  const { query, after } = valueOf("q=run_eu&cursor=old");
  assertEquals([query.from, after], [NOW - 3 * DAY_MS, AFTER]);
  assertEquals(valueOf("q=run_eu&from=2026-01-31&cursor=old").query.from, MIDNIGHT);
});

Deno.test("runs query: costs are exact to the picodollar, and 0 does not filter", () => {
  assertEquals(valueOf("min_cost_usd=0.1").query.minCost, 100_000_000_000n);
  assertEquals(valueOf("min_cost_usd=0.000000000001").query.minCost, 1n);
  assertEquals(valueOf("min_cost_usd=0.00").query, { from: null, to: null });
});

Deno.test("runs query: several values, their opposite, and filters that no index answers", () => {
  assertEquals(valueOf("agent=a&agent=b&not_status=failed&not_model=m").query, {
    agent: ["a", "b"],
    not: { status: ["failed"], model: ["m"] },
    from: null,
    to: null,
  });
  const texts = "metadata=env=prod&metadata=env=a%3Db&error=502&text=refund&not_metadata=x=1";
  assertEquals(valueOf(texts).query, {
    metadata: [["env", "prod"], ["env", "a=b"]],
    error: "502",
    text: "refund",
    not: { metadata: [["x", "1"]] },
    from: null,
    to: null,
  });
  const numbers = "min_duration_ms=5&min_score=a=0.5&max_score=a=1&max_score=b=-2";
  assertEquals(valueOf(numbers).query, {
    duration: { min: 5, max: Infinity },
    scores: [
      { name: "a", min: 0.5, max: 1 },
      { name: "b", min: -Infinity, max: -2 },
    ],
    from: null,
    to: null,
  });
  assertEquals(valueOf("since=24h&root=true&unusual=slow").query, {
    isRoot: true,
    unusual: "slow",
    from: NOW - DAY_MS,
    to: null,
  });
  assertEquals(valueOf("customer_id=c&customer_id=(unattributed)").isWindowDefault, false);
  const searches = ["agent=a", "root=true", "root=true&error=5", "text=a", "not_agent=a"]
    .map((text) => isSearch(valueOf(text).query));
  assertEquals(searches, [false, false, true, true, true]);
  // Without an index of its own, a filter that is added later reads a bounded number of runs.
  assertEquals(isSearch({ from: null, to: null, ...{ addedLater: 1 } }), true);
});
