import { addCounts, isZero } from "../../../../domain/core/sums.ts";
import {
  type Contribution,
  EMPTY_MEASURES,
  type Measures,
} from "../../../../domain/runs/summary.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import type { ModelUsage } from "../../../../domain/runs/model_usage.ts";
import {
  contributionsOf,
  countsOf,
  groupName,
  type RollupKind,
  type RollupRow,
} from "../../../../domain/spend/rollup.ts";
import type { ModelName } from "../../../../domain/runs/model_usage.ts";
import { firstOf } from "../../../../domain/spend/first_of.ts";
import type { RunStatus } from "../../../../domain/runs/run.ts";
import {
  type ReadRows,
  type Spend,
  SPEND_BYTES_MAX,
  SPEND_GROUPS_MAX,
  SPEND_ROWS_MAX,
  spendOf,
} from "../../../../domain/spend/spend.ts";
import { GROUPINGS, spendPlanOf, type SpendQuery } from "../../../../domain/spend/spend_query.ts";
import { type SpendFilters, UNATTRIBUTED } from "../../../../domain/runs/filters.ts";
import { problemOfAsync } from "../../../support/oracles/problems.ts";

const DAYS = ["2026-02-27", "2026-02-28", "2026-03-01"];
const RANGE = { from: "2026-02-27", to: "2026-03-01" } as const;

/** Roll-ups of these runs, as stored. */
function rowsOf(runs: readonly Contribution[]): RollupRow[] {
  const rows = new Map<string, RollupRow>();
  for (const row of runs.flatMap(contributionsOf)) {
    const name = row.day + groupName(row.group);
    const current = rows.get(name)?.measures ?? EMPTY_MEASURES;
    rows.set(name, { ...row, measures: addCounts(current, row.measures) });
  }
  return [...rows.values()].toSorted((a, b) => a.day < b.day ? -1 : a.day > b.day ? 1 : 0);
}

/** Reads rows of a kind, and records which kinds were read. */
function reader(rows: readonly RollupRow[], kinds: RollupKind[] = []): ReadRows {
  return async function* (kind) {
    kinds.push(kind);
    for (const row of rows) if (row.group.kind === kind) yield await Promise.resolve([row]);
  };
}

async function spend(query: SpendQuery, read: ReadRows): Promise<Spend> {
  return await spendOf(query, read);
}

const sum = (measures: readonly Measures[]) => measures.reduce(addCounts, EMPTY_MEASURES);

const amounts = fc.bigInt({ min: 0n, max: 2n ** 53n });
const label = fc.constantFrom(null, "a", "b", UNATTRIBUTED);
const line: fc.Arbitrary<ModelUsage> = fc.record({
  provider: fc.constantFrom(null, "p", UNATTRIBUTED),
  model: fc.constantFrom("m", "n"),
  priced: fc.boolean(),
  calls: fc.integer({ min: 1, max: 50 }),
  inputTokens: amounts,
  outputTokens: amounts,
  cachedInputTokens: amounts,
  cost: amounts,
});
/** Runs with models, and possibly usage that belongs to no model. */
const run: fc.Arbitrary<Contribution> = fc.tuple(
  fc.constantFrom(...DAYS),
  fc.record({
    agent: label,
    customer: label,
    feature: label,
    status: fc.constantFrom<RunStatus>("running", "success", "failed"),
  }),
  fc.array(line, { maxLength: 3 }),
  fc.constantFrom(0n, 7n),
).map(([day, labels, models, more]) => {
  const total = (measure: "inputTokens" | "outputTokens" | "cachedInputTokens" | "cost") =>
    models.reduce<bigint>((sum, line) => sum + line[measure], more);
  const calls = models.reduce((sum, { calls }) => sum + calls, Number(more));
  return {
    day,
    labels,
    events: calls + Number(more),
    calls,
    inputTokens: total("inputTokens"),
    outputTokens: total("outputTokens"),
    cachedInputTokens: total("cachedInputTokens"),
    cost: total("cost"),
    models,
  };
});
const labelFilter = fc.option(fc.constantFrom(null, "a", "b", "none such"), { nil: undefined });
const filters: fc.Arbitrary<SpendFilters> = fc.record({
  agent: labelFilter,
  customer: labelFilter,
  feature: labelFilter,
  status: fc.option(fc.constantFrom("running", "success"), { nil: undefined }),
  provider: fc.option(fc.constantFrom(null, "p"), { nil: undefined }),
  model: fc.option(fc.constantFrom("m", "x"), { nil: undefined }),
}).map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));

const plainLabel = (text: string | null) => text === UNATTRIBUTED ? null : text;

/** The expected response, computed directly from the runs. */
function oracle(runs: readonly Contribution[], { groupBy, filters }: SpendQuery) {
  const ofModels = filters.model !== undefined || filters.provider !== undefined;
  const fits = (name: ModelName) =>
    (filters.model === undefined || filters.model === name.model) &&
    (filters.provider === undefined || filters.provider === plainLabel(name.provider));
  const groups = new Map<string, Measures>();
  const add = (key: string, measures: Measures) =>
    groups.set(key, addCounts(groups.get(key) ?? EMPTY_MEASURES, measures));
  const chosen = runs.filter(({ labels }) =>
    (["agent", "customer", "feature", "status"] as const).every((label) =>
      filters[label] === undefined || plainLabel(labels[label]) === filters[label]
    )
  );
  for (const run of chosen) {
    const rows = contributionsOf(run);
    const models = rows.flatMap(({ group, measures }) =>
      group.kind === "model" && fits(group.value) ? [{ name: group.value, measures }] : []
    );
    const complete = rows.flatMap(({ group, measures }) =>
      group.kind === "total" ? [measures] : []
    );
    for (const { name, measures } of groupBy === "model" ? models : []) {
      const provider = plainLabel(name.provider);
      add(provider === null ? name.model : `${provider}/${name.model}`, measures);
    }
    if (groupBy === "model") continue;
    const key = groupBy === "day" ? run.day : plainLabel(run.labels[groupBy]) ?? UNATTRIBUTED;
    for (const measures of ofModels ? models.map((one) => one.measures) : complete) {
      add(key, measures);
    }
  }
  return groups;
}

Deno.test("spend: any query equals adding up its runs one by one", async () => {
  const question = fc.record({ groupBy: fc.constantFrom(...GROUPINGS), filters });
  await fc.assert(
    fc.asyncProperty(fc.array(run, { maxLength: 12 }), question, async (runs, requested) => {
      const query = { ...RANGE, ...requested };
      const { totals, groups } = await spend(query, reader(rowsOf(runs)));
      const expected = oracle(runs, query);
      const named = groups.filter(({ runsKnown, measures }) => runsKnown && !isZero(measures));
      assertEquals(
        Object.fromEntries(named.map(({ key, measures }) => [key, measures])),
        Object.fromEntries(expected),
      );
      const added = sum(groups.map(({ measures }) => measures));
      // A run that used two models counts in both.
      assertEquals({ ...added, ...countsOf(totals) }, totals);
      if (query.groupBy !== "model") assertEquals(added, totals);
      if (spendPlanOf(query).whole === null) return;
      const complete = oracle(runs, { ...query, groupBy: "day" });
      assertEquals(totals, sum([...complete.values()]));
    }),
    { numRuns: 500 },
  );
});

function agentRow(value: string, cost: bigint): RollupRow {
  const measures = { ...EMPTY_MEASURES, runs: 1, cost };
  return { day: "2026-02-28", group: { kind: "agent", value }, measures };
}

Deno.test("spend: beyond the group limit the cheapest are merged into one last group, and nothing is lost", async () => {
  for (const [count, folded] of [[SPEND_GROUPS_MAX, null], [SPEND_GROUPS_MAX + 1, 2]] as const) {
    const rows = Array.from({ length: count }, (_, i) => agentRow(`a${i}`, BigInt(i + 1)));
    const query: SpendQuery = { ...RANGE, groupBy: "agent", filters: {} };
    const { totals, groups } = await spend(query, reader(rows));
    assertEquals(groups.length, SPEND_GROUPS_MAX);
    assertEquals(groups.at(-1)?.folded, folded);
    assertEquals(groups.at(-1)?.key, folded === null ? "a0" : "(other)");
    assertEquals(groups.at(-1)?.measures.cost, folded === null ? 1n : 3n);
    assertEquals(sum(groups.map(({ measures }) => measures)), totals);
  }
});

/** Total rows of rising cost, one per read, and a model that costs 10. */
function changing(costs: readonly bigint[], kinds: RollupKind[]): ReadRows {
  let readings = 0;
  return async function* (kind) {
    kinds.push(kind);
    const measures = { ...EMPTY_MEASURES, runs: 1, calls: 1, events: 1 };
    const value = { provider: null, model: "m" };
    yield await Promise.resolve<RollupRow[]>([
      kind === "total"
        ? {
          day: "2026-02-28",
          group: { kind },
          measures: { ...measures, cost: costs[readings++] ?? 0n },
        }
        : {
          day: "2026-02-28",
          group: { kind: "model", value },
          measures: { ...measures, cost: 10n },
        },
    ]);
  };
}

Deno.test("spend: by model, runs that change between the reads are read again", async () => {
  const kinds: RollupKind[] = [];
  const query: SpendQuery = { ...RANGE, groupBy: "model", filters: {} };
  const { totals, groups } = await spend(query, changing([9n, 10n, 10n], kinds));
  assertEquals(kinds, ["total", "model", "total", "model", "total"]);
  assertEquals(groups.map(({ key }) => key), ["m"]);
  assertEquals(totals.cost, 10n);
});

Deno.test("spend: by model, constantly changing runs still give groups that add up, none negative", async () => {
  for (const last of [4n, 13n]) {
    const kinds: RollupKind[] = [];
    const query: SpendQuery = { ...RANGE, groupBy: "model", filters: {} };
    const { totals, groups } = await spend(query, changing([1n, 2n, 3n, last], kinds));
    assertEquals(kinds.length, 7);
    const costs = groups.map(({ key, measures }) => [key, measures.cost]);
    assertEquals(costs, [["m", 10n], ...(last > 10n ? [[UNATTRIBUTED, 3n]] : [])]);
    assertEquals(totals.cost, last > 10n ? last : 10n);
  }
});

Deno.test("spend: a query that needs too many rows is refused with advice", async () => {
  const row = agentRow("a", 1n);
  let input = 0;
  const read = (count: number): ReadRows =>
    async function* () {
      for (input = 0; input < count; input++) yield [row];
      await Promise.resolve();
    };
  const query: SpendQuery = { ...RANGE, groupBy: "agent", filters: {} };
  await spendOf(query, read(SPEND_ROWS_MAX));
  const problem = await problemOfAsync(spendOf(query, read(SPEND_ROWS_MAX + 5)));
  assertEquals([problem?.code, problem?.field], ["invalid_field", "from"]);
  assertEquals(input, SPEND_ROWS_MAX);
});

Deno.test("spend: by model, runs without calls or cost are not a separate group", async () => {
  const labels = { agent: "a", customer: null, feature: null, status: "success" } as const;
  const none = { events: 0, calls: 0, inputTokens: 0n, outputTokens: 0n, cachedInputTokens: 0n };
  const idle = { day: "2026-02-28", labels, ...none, cost: 0n, models: [] };
  const read = reader(rowsOf([idle]));
  const { totals, groups } = await spend({ ...RANGE, groupBy: "model", filters: {} }, read);
  assertEquals([totals.runs, groups], [1, []]);
});

Deno.test("spend: groups whose names need too many bytes are refused, however few rows there are", async () => {
  const name = "n".repeat(10_000);
  let input = 0;
  const read: ReadRows = async function* () {
    for (input = 0; input < 10_000; input++) yield [agentRow(`${name}${input}`, 1n)];
    await Promise.resolve();
  };
  const refused = spendOf({ ...RANGE, groupBy: "agent", filters: {} }, read);
  assertStringIncludes((await problemOfAsync(refused))?.message ?? "", "fewer days");
  assert(input < 2 * SPEND_BYTES_MAX / (4 * name.length), `${input} rows`);
});

Deno.test("first of many: equals the beginning of the sorted list, whatever the order and the ties", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.integer({ min: 1, max: 8 }), (all, max) => {
      const inOrder = all.toSorted((a, b) => a - b);
      assertEquals(firstOf(all, max, (a, b) => a - b), inOrder.slice(0, max));
    }),
  );
});
