/** Opens in variants: retries, many teams, half of the top rate. */
import { type Figures, figuresOf } from "./calls.ts";
import { type Load, measure, type Measured, nextPause } from "./measure.ts";
import { say } from "./say.ts";
import { type Side, startSide } from "./sides.ts";
import { median, ratios } from "./stats.ts";

const TEAMS = 1_000;
const RETRIES_PERCENT = 5;
const CONNECTIONS = 64;

/** What the variants came to. */
export interface VariantsResult {
  readonly retries: Figures;
  readonly teams: Figures;
  readonly half: Figures;
  /** Over the plain opens of the same round. */
  readonly overNoRetries: readonly number[];
  /** Over the plain opens of the same round. */
  readonly overOneTeam: readonly number[];
  /** Rate of the measurements at half of the top rate, as a part of the top rate. */
  readonly achieved: number;
  /** 99th percentile at half of the top rate, round by round. */
  readonly halfP99Ms: readonly number[];
}

/** Measures opens in all variants, in turn. */
export async function measureVariants(
  folder: string,
  rounds: number,
  seconds: number,
): Promise<VariantsResult> {
  say(`variants: starting a server with ${TEAMS} teams …`);
  await using side = await startSide("workless", `${folder}/variants.kv`, { teams: TEAMS });
  const load: Load = { call: "open", connections: CONNECTIONS, seconds };
  const [plain, retries, teams]: [Measured[], Measured[], Measured[]] = [[], [], []];
  for (let round = 1; round <= rounds; round++) {
    say(`variants: round ${round}/${rounds}, plain, with retries, of ${TEAMS} teams …`);
    plain.push(await measure(side, load));
    retries.push(await measure(side, { ...load, retriesPercent: RETRIES_PERCENT }));
    teams.push(await measure(side, { ...load, teams: TEAMS }));
  }
  const rates = (all: Measured[]) => all.map(({ requestsPerSecond }) => requestsPerSecond);
  const top = median(rates(plain));
  const half = await measureAt(side, load, top / 2, rounds);
  return {
    retries: figuresOf(retries),
    teams: figuresOf(teams),
    half: figuresOf(half),
    overNoRetries: ratios(rates(retries), rates(plain)),
    overOneTeam: ratios(rates(teams), rates(plain)),
    achieved: median(rates(half)) / top,
    halfP99Ms: half.map(({ p99Ms }) => p99Ms),
  };
}

/** Measures at about a rate: the pause that leads to it is found with two short tries. */
async function measureAt(side: Side, load: Load, rate: number, rounds: number) {
  const connections = load.connections;
  // At twice the rate, without a pause, a request takes this long.
  let pauseMs = connections / (2 * rate) * 1000;
  for (let attempt = 0; attempt < 2; attempt++) {
    const tried = await measure(side, { ...load, seconds: 1, pauseMs });
    pauseMs = nextPause(pauseMs, connections, tried.requestsPerSecond, rate);
  }
  const measured: Measured[] = [];
  for (let round = 1; round <= rounds; round++) {
    say(
      `variants: round ${round}/${rounds}, half of the top rate, pauses of ${
        pauseMs.toFixed(1)
      } ms …`,
    );
    measured.push(await measure(side, { ...load, pauseMs }));
  }
  return measured;
}
