/** Measures the group commit without the worker, as ratios of calls a second. */
import { inTurn, type Load, measure, rateRatios } from "./load.ts";
import { atLeast, type Bar } from "./report.ts";
import { startSide } from "./sides.ts";

const TEAMS = 1_000;

/** Compares with one commit for each write, with retries, and with many teams. */
export async function measureGrouping(
  { folder, rounds, seconds }: {
    readonly folder: string;
    readonly rounds: number;
    readonly seconds: number;
  },
): Promise<Bar[]> {
  await using grouped = await startSide("workless", `${folder}/grouped.kv`, { teams: TEAMS });
  await using alone = await startSide("alone", `${folder}/alone.kv`);
  const bars: Bar[] = [];
  for (const call of ["open", "heartbeat"] as const) {
    const load: Load = { call, connections: 64, seconds };
    const results = await inTurn(`grouping: ${call}`, rounds, {
      grouped: () => measure(grouped, load),
      alone: () => measure(alone, load),
    });
    bars.push(
      atLeast(`${call}: grouped ÷ one commit each`, 6, rateRatios(results.grouped, results.alone)),
    );
  }
  const load: Load = { call: "open", connections: 64, seconds };
  const { plain, retries, teams } = await inTurn("grouping: open", rounds, {
    plain: () => measure(grouped, load),
    retries: () => measure(grouped, { ...load, retriesPercent: 5 }),
    teams: () => measure(grouped, { ...load, teams: TEAMS }),
  });
  return [
    ...bars,
    atLeast("open: 5 % retries ÷ none", 0.9, rateRatios(retries, plain)),
    atLeast("open: 1,000 teams ÷ one team", 0.8, rateRatios(teams, plain)),
  ];
}
