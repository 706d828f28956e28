import { addCounts } from "../../../../domain/core/sums.ts";
import { type Contribution, EMPTY_MEASURES } from "../../../../domain/runs/summary.ts";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { DAILY_GROUPS_MAX, type DailySpend, dailySpendOf } from "../../../../domain/spend/daily.ts";
import { contributionsOf, groupName, type RollupRow } from "../../../../domain/spend/rollup.ts";
import { costPerSuccess, type ReadRows, spendOf } from "../../../../domain/spend/spend.ts";
import { GROUPINGS, type SpendQuery } from "../../../../domain/spend/spend_query.ts";
import { aContribution, LINE } from "../../../support/builders/spend.ts";
import { daysOfAgents } from "../../../../domain/spend/agent_days.ts";

const DAYS = ["2026-02-27", "2026-02-28", "2026-03-01"];
const RANGE = { from: "2026-02-27", to: "2026-03-01", filters: {} } as const;

/** Roll-ups of these runs, as the store returns them. */
function readerOf(runs: readonly Contribution[]): ReadRows {
  const rows = new Map<string, RollupRow>();
  for (const row of runs.flatMap(contributionsOf)) {
    const name = row.day + groupName(row.group);
    const current = rows.get(name)?.measures ?? EMPTY_MEASURES;
    rows.set(name, { ...row, measures: addCounts(current, row.measures) });
  }
  const sorted = [...rows.values()].toSorted((a, b) => a.day < b.day ? -1 : 1);
  return async function* (kind) {
    for (const row of sorted) if (row.group.kind === kind) yield await Promise.resolve([row]);
  };
}

async function daily(query: SpendQuery, runs: readonly Contribution[]): Promise<DailySpend> {
  return await dailySpendOf(query, readerOf(runs));
}

const sum = (costs: readonly bigint[]) => costs.reduce((a, b) => a + b, 0n);

const names = fc.constantFrom(...Array.from({ length: 12 }, (_, n) => `name-${n}`));
const run: fc.Arbitrary<Contribution> = fc.record({
  day: fc.constantFrom(...DAYS),
  agent: names,
  customer: fc.option(names),
  models: fc.array(fc.record({ model: names, cost: fc.bigInt({ min: 0n, max: 2n ** 60n }) }), {
    maxLength: 3,
  }),
  ofNoModel: fc.bigInt({ min: 0n, max: 2n ** 60n }),
}).map(({ day, agent, customer, models, ofNoModel }) =>
  aContribution({
    day,
    labels: { agent, customer },
    models: models.map((line) => ({ ...LINE, ...line })),
    cost: sum(models.map(({ cost }) => cost)) + ofNoModel,
  })
);

Deno.test("daily spend: days and groups add up to the total, and each group's days to the group", async () => {
  const query = fc.record({
    groupBy: fc.constantFrom(...GROUPINGS),
    filters: fc.constantFrom({}, { agent: "name-1" }, { model: "name-2" }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(run, { maxLength: 40 }), query, async (runs, requested) => {
      const complete = { ...RANGE, ...requested };
      const answer = await daily(complete, runs);
      const plain = await spendOf(complete, readerOf(runs));
      assertEquals([answer.totals, answer.groups], [plain.totals, plain.groups]);
      assertEquals(answer.days, DAYS);
      assertEquals(sum(answer.dayTotals), answer.totals.cost);
      const apart = answer.daily.filter(({ group }) => group !== null);
      assert(apart.length <= DAILY_GROUPS_MAX);
      for (const { group, costs } of apart) assertEquals(sum(costs), group?.measures.cost);
      if (answer.daily.length === 0) return;
      for (const day of DAYS.keys()) {
        assertEquals(sum(answer.daily.map(({ costs }) => costs[day] ?? 0n)), answer.dayTotals[day]);
      }
    }),
  );
});

Deno.test("daily spend: cost without a model is a group day by day", async () => {
  const models = [{ ...LINE, cost: 5n }];
  const runs = [
    aContribution({ day: "2026-02-27", models, cost: 7n }),
    aContribution({ day: "2026-03-01", models, cost: 5n }),
  ];
  const { daily: groups } = await daily({ ...RANGE, groupBy: "model" }, runs);
  assertEquals(groups.map(({ group, costs }) => [group?.key, costs]), [
    ["openai/gpt-4o", [5n, 0n, 5n]],
    ["(unattributed)", [2n, 0n, 0n]],
  ]);
});

Deno.test("daily spend: beyond the costliest groups all others are one group, listed last", async () => {
  const runs = Array.from({ length: 11 }, (_, n) =>
    aContribution({
      day: "2026-02-28",
      labels: { agent: `agent-${n}` },
      models: [{ ...LINE, cost: BigInt(n + 1) }],
    }));
  const { daily: groups } = await daily({ ...RANGE, groupBy: "agent" }, runs);
  assertEquals(groups.length, DAILY_GROUPS_MAX + 1);
  assertEquals(groups[0]?.group?.key, "agent-10");
  assertEquals(groups.at(-1), { group: null, costs: [0n, 6n, 0n] });
});

Deno.test("daily spend: rows of a repeated read do not count twice", async () => {
  const run = aContribution({ day: "2026-02-28", models: [{ ...LINE, cost: 3n }] });
  let readings = 0;
  // The total grows once, after the first read.
  const read: ReadRows = (kind) =>
    readerOf(kind === "total" && readings++ === 0 ? [run] : [run, run])(kind);
  const answer = await dailySpendOf({ ...RANGE, groupBy: "model" }, read);
  assertEquals(answer.totals.cost, 6n);
  assertEquals(answer.dayTotals, [0n, 6n, 0n]);
  assertEquals(answer.daily.map(({ costs }) => costs), [[0n, 6n, 0n]]);
});

const row = (value: string, day: string, runs: number, succeeded: number): RollupRow => ({
  day,
  group: { kind: "agent", value },
  measures: { ...EMPTY_MEASURES, runs, succeeded, cost: BigInt(runs) },
});

Deno.test("days of agents: every day is listed in order, including empty days, and days add up to the total", () => {
  const days = ["2026-11-19", "2026-11-20", "2026-11-21"];
  const rows = [row("b", days[2]!, 5, 4), row("a", days[1]!, 2, 1), row("a", days[2]!, 3, 3)];
  const result = daysOfAgents(rows, ["a", "b", "c"], days);
  const runs = (agent: string) => result.get(agent)?.days.map(({ measures }) => measures.runs);
  assertEquals([runs("a"), runs("b"), runs("c")], [[0, 2, 3], [0, 0, 5], [0, 0, 0]]);
  const { runs: all, succeeded, cost } = result.get("a")!.total;
  assertEquals({ all, succeeded, cost }, { all: 5, succeeded: 4, cost: 5n });
  assertEquals([...result.keys()], ["a", "b", "c"]);
});

Deno.test("cost per success: total cost over successful runs, half a picodollar rounded up, null without success", () => {
  const of = (cost: bigint, succeeded: number) =>
    costPerSuccess({ ...EMPTY_MEASURES, cost, succeeded });
  assertEquals([of(10n, 4), of(9n, 4), of(10n, 3), of(11n, 3), of(5n, 0)], [3n, 2n, 3n, 4n, null]);
});
