import { EMPTY_MEASURES } from "../../../../domain/runs/summary.ts";
import { assertEquals } from "@std/assert";
import { daysOfAgents } from "../../../../domain/spend/agent_days.ts";
import { type RollupRow } from "../../../../domain/spend/rollup.ts";
import { costPerSuccess } from "../../../../domain/spend/spend.ts";

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
