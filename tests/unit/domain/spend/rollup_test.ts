import { addCounts, isZero } from "../../../../domain/core/sums.ts";
import {
  type Contribution,
  EMPTY_MEASURES,
  type Measures,
} from "../../../../domain/runs/summary.ts";
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import type { ModelUsage } from "../../../../domain/runs/model_usage.ts";
import {
  contributionsOf,
  differencesOf,
  groupName,
  type RollupGroup,
  type RollupRow,
} from "../../../../domain/spend/rollup.ts";
import type { RunStatus } from "../../../../domain/runs/run.ts";

const LINE: ModelUsage = {
  provider: "openai",
  model: "gpt-4o",
  priced: true,
  calls: 2,
  inputTokens: 100n,
  outputTokens: 20n,
  cachedInputTokens: 10n,
  cost: 450_000_000n,
};
const UNPRICED: ModelUsage = { ...LINE, priced: false, calls: 1, cost: 0n };
const RUN: Contribution = {
  day: "2026-11-21",
  labels: { agent: "researcher", customer: null, feature: "search", status: "success" },
  events: 9,
  calls: 4,
  inputTokens: 201n,
  outputTokens: 41n,
  cachedInputTokens: 20n,
  cost: 450_000_000n,
  models: [UNPRICED, LINE],
};

/** Adds up rows by day and group. */
function sumsOf(rows: readonly RollupRow[]): Map<string, Measures> {
  const sums = new Map<string, Measures>();
  for (const { day, group, measures } of rows) {
    const name = day + groupName(group);
    sums.set(name, addCounts(sums.get(name) ?? EMPTY_MEASURES, measures));
  }
  return sums;
}

/** Converts sums to an object without empty groups. */
function nonEmpty(sums: Map<string, Measures>) {
  return Object.fromEntries(
    [...sums].filter(([, measures]) => !isZero(measures)).sort(([a], [b]) => a < b ? -1 : 1),
  );
}

const amounts = fc.bigInt({ min: 0n, max: 2n ** 53n });
const label = fc.constantFrom(null, "", "a", "b");
const line: fc.Arbitrary<ModelUsage> = fc.record({
  provider: fc.constantFrom(null, "p", "q"),
  model: fc.constantFrom("m", "n"),
  priced: fc.boolean(),
  calls: fc.nat(50),
  inputTokens: amounts,
  outputTokens: amounts,
  cachedInputTokens: amounts,
  cost: amounts,
});
const contribution: fc.Arbitrary<Contribution> = fc.record({
  day: fc.constantFrom("2026-02-28", "2026-03-01"),
  labels: fc.record({
    agent: label,
    customer: label,
    feature: label,
    status: fc.constantFrom<RunStatus>("running", "success", "failed"),
  }),
  events: fc.nat(100),
  calls: fc.nat(100),
  inputTokens: amounts,
  outputTokens: amounts,
  cachedInputTokens: amounts,
  cost: amounts,
  models: fc.array(line, { maxLength: 4 }),
});

Deno.test("rollup: the deltas add up exactly to the sum of the runs' contributions", () => {
  const change = fc.tuple(fc.nat(5), fc.option(contribution, { nil: null }));
  fc.assert(fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
    const runs = new Map<number, Contribution | null>();
    const differences = changes.flatMap(([run, after]) => {
      const before = runs.get(run) ?? null;
      runs.set(run, after);
      return differencesOf([{ before, after }]);
    });
    const final = [...runs.values()].flatMap((run) => run === null ? [] : contributionsOf(run));
    assertEquals(nonEmpty(sumsOf(differences)), nonEmpty(sumsOf(final)));
  }));
});

Deno.test("rollup: a delta has each group once and no row without a change", () => {
  const state = fc.option(contribution, { nil: null });
  fc.assert(fc.property(state, state, (before, after) => {
    const rows = differencesOf([{ before, after }]);
    assertEquals(sumsOf(rows).size, rows.length);
    assertEquals(rows.filter(({ measures }) => isZero(measures)), []);
    assertEquals(differencesOf([{ before: after, after }]), []);
  }));
});

Deno.test("rollup: every grouping adds up to the total, measure by measure", () => {
  fc.assert(fc.property(fc.array(contribution, { maxLength: 8 }), (runs) => {
    const rows = runs.flatMap(contributionsOf);
    const sumOf = (kind: RollupGroup["kind"]) =>
      rows.filter(({ group }) => group.kind === kind)
        .reduce((sum, { measures }) => addCounts(sum, measures), EMPTY_MEASURES);
    for (const kind of ["agent", "customer", "feature", "status", "cell"] as const) {
      assertEquals(sumOf(kind), sumOf("total"), kind);
    }
    assertEquals(sumOf("model_cell"), sumOf("model"));
    // Usage without a price is grouped by model only.
    assertEquals(sumOf("model").unpricedInputTokens, sumOf("total").unpricedInputTokens);
  }));
});

Deno.test("rollup: a run adds one row of each kind, and its model once however it was priced", () => {
  const rows = contributionsOf(RUN);
  const total: Measures = {
    runs: 1,
    succeeded: 1,
    failed: 0,
    timedOut: 0,
    running: 0,
    events: 9,
    calls: 4,
    inputTokens: 201n,
    outputTokens: 41n,
    cachedInputTokens: 20n,
    cost: 450_000_000n,
    unpricedCalls: 1,
    unpricedInputTokens: 100n,
    unpricedOutputTokens: 20n,
    unpricedCachedInputTokens: 10n,
    uncountedCalls: 0,
  };
  const model: Measures = {
    ...total,
    events: 3,
    calls: 3,
    inputTokens: 200n,
    outputTokens: 40n,
  };
  const { day, labels } = RUN;
  const value = { provider: "openai", model: "gpt-4o" };
  assertEquals(rows, [
    { day, group: { kind: "total" }, measures: total },
    { day, group: { kind: "agent", value: "researcher" }, measures: total },
    { day, group: { kind: "customer", value: null }, measures: total },
    { day, group: { kind: "feature", value: "search" }, measures: total },
    { day, group: { kind: "status", value: "success" }, measures: total },
    { day, group: { kind: "cell", labels }, measures: total },
    { day, group: { kind: "model", value }, measures: model },
    { day, group: { kind: "model_cell", labels, value }, measures: model },
  ]);
});

Deno.test("rollup: a run counts only for its own status", () => {
  const counted = {
    success: "succeeded",
    failed: "failed",
    timeout: "timedOut",
    running: "running",
  };
  for (const status of ["success", "running", "failed", "timeout", "cancelled"] as const) {
    for (const { measures } of contributionsOf({ ...RUN, labels: { ...RUN.labels, status } })) {
      const { succeeded, failed, timedOut, running } = measures;
      const counts = { succeeded, failed, timedOut, running };
      const own = status === "cancelled" ? {} : { [counted[status]]: 1 };
      assertEquals(counts, { succeeded: 0, failed: 0, timedOut: 0, running: 0, ...own }, status);
    }
  }
});

Deno.test("rollup: no two groups share a name", () => {
  const labels = { agent: null, customer: "a", feature: "b", status: "running" } as const;
  const groups: RollupGroup[] = [
    { kind: "total" },
    { kind: "agent", value: null },
    { kind: "agent", value: "null" },
    { kind: "agent", value: "" },
    { kind: "customer", value: null },
    { kind: "status", value: "running" },
    { kind: "feature", value: "running" },
    { kind: "model", value: { provider: null, model: "a/b" } },
    { kind: "model", value: { provider: "a", model: "b" } },
    { kind: "model", value: { provider: "", model: "a/b" } },
    { kind: "cell", labels },
    { kind: "cell", labels: { ...labels, customer: "b", feature: "a" } },
    { kind: "model_cell", labels, value: { provider: null, model: "m" } },
    { kind: "model_cell", labels, value: { provider: "m", model: "m" } },
  ];
  assertEquals(new Set(groups.map(groupName)).size, groups.length);
});

Deno.test("rollup: a row is empty only if every measure is zero", () => {
  assert(isZero(EMPTY_MEASURES));
  for (const [name, none] of Object.entries(EMPTY_MEASURES)) {
    const one = typeof none === "bigint" ? -1n : -1;
    assertEquals(isZero({ ...EMPTY_MEASURES, [name]: one }), false, name);
    const sum = addCounts(EMPTY_MEASURES, { ...EMPTY_MEASURES, [name]: one });
    assertNotEquals(sum, EMPTY_MEASURES, name);
  }
});
