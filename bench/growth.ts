/** Opens on a file with many stored runs, against an empty one. */
import { type Figures, figuresOf } from "./calls.ts";
import { runScript } from "./children.ts";
import { measure, type Measured } from "./measure.ts";
import { say } from "./say.ts";
import { startSide } from "./sides.ts";
import { ratios } from "./stats.ts";

const CONNECTIONS = 64;

/** What a file with so many runs came to. */
export interface GrowthResult {
  readonly runs: number;
  readonly figures: Figures;
  readonly emptyFigures: Figures;
  /** Over the empty file of the same round. */
  readonly overEmpty: readonly number[];
  /** Seconds that storing the runs took. */
  readonly fillSeconds: number;
}

/** Fills one file step by step and measures at each. */
export async function measureGrowth(
  folder: string,
  steps: readonly number[],
  rounds: number,
  seconds: number,
): Promise<GrowthResult[]> {
  const file = `${folder}/growth.kv`;
  const results: GrowthResult[] = [];
  let [stored, fillSeconds] = [0, 0];
  for (const runs of steps) {
    say(`growth: storing ${runs} runs …`);
    fillSeconds += await runScript<number>("./fill.ts", file, String(stored), String(runs));
    stored = runs;
    say(`growth: ${runs} runs are stored after ${Math.round(fillSeconds)} s`);
    results.push({ runs, fillSeconds, ...await compare(folder, file, runs, rounds, seconds) });
  }
  return results;
}

async function compare(
  folder: string,
  file: string,
  runs: number,
  rounds: number,
  seconds: number,
) {
  const [ours, others]: [Measured[], Measured[]] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    say(`growth: round ${round}/${rounds}, ${runs} runs and none …`);
    // Both servers are new each time, and the empty file too: what is measured fills it.
    await using full = await startSide("workless", file);
    await using empty = await startSide("workless", `${folder}/empty-${runs}-${round}.kv`);
    others.push(await measure(empty, { call: "open", connections: CONNECTIONS, seconds }));
    ours.push(await measure(full, { call: "open", connections: CONNECTIONS, seconds }));
  }
  const rates = (all: Measured[]) => all.map(({ requestsPerSecond }) => requestsPerSecond);
  return {
    figures: figuresOf(ours),
    emptyFigures: figuresOf(others),
    overEmpty: ratios(rates(ours), rates(others)),
  };
}
