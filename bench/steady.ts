/**
 * Measures the service at half of its sustained rate of complete runs: `steady` for ten minutes on a
 * new file, `memory` for twenty minutes on a file with many runs.
 */
import { number, table } from "../tools/table.ts";
import { backlogOf, readProgress, untilDrained } from "./backlog.ts";
import { filledFile, newId } from "./fill.ts";
import { CONNECTIONS, type Load, loadAt, RUN_EVENTS, wrk, type WrkResult } from "./load.ts";
import { usageOf } from "./process.ts";
import { type Bar, belowMs, type BenchOptions, print, say } from "./report.ts";
import { keyOf } from "./service.ts";
import { type Side, startThisCheckout } from "./sides.ts";
import { mean, median, quantile } from "./stats.ts";
import { sustain } from "./sustained.ts";

/** Seconds of the load that finds the sustained rate. */
const TOP_SECONDS = 10;
const CALLS_PER_RUN = 3;
const SAMPLE_MS = 1_000;
/** Pauses between two probes, and between two reads of a probe. */
const PROBE_PAUSE_MS = 50, POLL_MS = 5;
const LAG_MS_MAX = 500, CALL_MS_MAX = 15, START_MS_MAX = 2_000, RSS_MB_MAX = 300;

/** Results of a load at half of the sustained rate. */
interface Steady {
  readonly calls: WrkResult;
  /** Requested calls a second. */
  readonly wantedRate: number;
  /** Milliseconds from a finish to the final cost, by probe. */
  readonly lagsMs: readonly number[];
  /** Calls that were not aggregated yet, by second. */
  readonly backlog: readonly number[];
  /** Memory by second; empty if the system does not provide it. */
  readonly rssMb: readonly number[];
}

/** Measures latencies and the backlog. */
export async function benchSteady({ folder, seconds = 600 }: BenchOptions): Promise<Bar[]> {
  await using side = await startThisCheckout(`${folder}/steady.kv`);
  const steady = await loadAtHalf(side, seconds);
  printSteady(steady);
  return [
    belowMs("cost final after a finish, p99", LAG_MS_MAX, quantile(steady.lagsMs, 0.99)),
    belowMs("p99 of the calls", CALL_MS_MAX, steady.calls.p99Ms),
    backlogBar(steady.backlog),
  ];
}

/** Measures the start and the memory on a ledger of many runs. */
export async function benchMemory(options: BenchOptions): Promise<Bar[]> {
  const { runs = 1_000_000, seconds = 1_200 } = options;
  const path = await filledFile(options, runs);
  const startMs = performance.now();
  await using side = await startThisCheckout(path);
  const startedMs = performance.now() - startMs;
  const steady = await loadAtHalf(side, seconds);
  printSteady(steady);
  return [
    belowMs(`start with ${number(runs)} stored runs`, START_MS_MAX, startedMs),
    memoryBar(steady.rssMb),
  ];
}

async function loadAtHalf(side: Side, seconds: number): Promise<Steady> {
  const load: Load = { call: "run", connections: CONNECTIONS, seconds };
  say("the sustained rate …");
  const top = await sustain(side, { ...load, seconds: TOP_SECONDS });
  const wantedRate = CALLS_PER_RUN * top.sustained / 2;
  const origin = await readProgress(side);
  const half = await loadAt(load, wantedRate, (load) => wrk(side.url, load));
  await untilDrained(side, origin);
  say(`${number(seconds)} s at ${number(wantedRate / CALLS_PER_RUN)} runs a second …`);
  const start = await readProgress(side);
  const backlog: number[] = [], rssMb: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  const sample = async () => {
    backlog.push(backlogOf(start, await readProgress(side)));
    const usage = await usageOf(side.pid);
    if (usage !== null) rssMb.push(usage.rssMb);
  };
  const [calls, lagsMs] = await Promise.all([
    wrk(side.url, half),
    repeatUntil(endMs, PROBE_PAUSE_MS, () => lagOf(side.url)),
    repeatUntil(endMs, SAMPLE_MS, sample),
  ]);
  await untilDrained(side, start);
  return { calls, wantedRate, lagsMs, backlog, rssMb };
}

/** Repeats work with pauses until a time; the last one ends later. */
export async function repeatUntil<T>(
  endMs: number,
  pauseMs: number,
  work: () => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  while (performance.now() < endMs) {
    results.push(await work());
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return results;
}

/** Sends a complete run and measures the time from its finish until its cost is final. */
export async function lagOf(url: string): Promise<number> {
  const nowMs = Date.now();
  const now = new Date(nowMs);
  const id = newId("run", nowMs);
  const headers = { Authorization: `Bearer ${keyOf(1)}` };
  const send = async (path: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { headers, ...init });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1_200, output_tokens: 340 };
  const events = Array.from(
    { length: RUN_EVENTS },
    () => ({ id: newId("evt", nowMs), type: "llm_call", ts: now, data }),
  );
  await send("/v1/runs", { id, agent: "probe", started_at: now });
  await send(`/v1/runs/${id}/events`, { events });
  await send(`/v1/runs/${id}/finish`, { status: "success", finished_at: now });
  const finishedMs = performance.now();
  while ((await send(`/v1/runs/${id}`)).cost.state !== "final") {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return performance.now() - finishedMs;
}

function printSteady({ calls, wantedRate, lagsMs, backlog, rssMb }: Steady): void {
  const quantiles = (values: readonly number[], decimals: number) =>
    [median(values), quantile(values, 0.99), Math.max(...values)].map((value) =>
      number(value, decimals)
    );
  print(
    `${number(calls.requestsPerSecond)} calls a second, wanted ${number(wantedRate)}; ` +
      `${number(calls.failures)} failures; ${number(lagsMs.length)} probes.\n`,
  );
  print(table(["measured", "p50", "p99", "maximum"], [
    ["a call, ms", number(calls.p50Ms, 1), number(calls.p99Ms, 1), "-"],
    ["cost final after a finish, ms", ...quantiles(lagsMs, 0)],
    ["calls that are not aggregated", ...quantiles(backlog, 0)],
    ["RSS, MB", ...quantiles(rssMb, 0)],
  ]));
}

const SAMPLES_MIN = 9;

/** Returns the mean of the first, second or last third of samples. */
function meanOfThird(samples: readonly number[], third: 0 | 1 | 2): number {
  const length = Math.floor(samples.length / 3);
  return mean(samples.slice(third * length, (third + 1) * length));
}

const BACKLOG_GROWTH_MAX = 1.5;

/** Compares the backlog in the last third with the first. */
export function backlogBar(samples: readonly number[]): Bar {
  const bar = {
    name: "backlog, last third ÷ first",
    bar: `≤ ${BACKLOG_GROWTH_MAX}, or no backlog`,
  };
  if (samples.length < SAMPLES_MIN) return { ...bar, measured: "not measured", met: null };
  const [first, last] = [meanOfThird(samples, 0), meanOfThird(samples, 2)];
  return {
    ...bar,
    measured: `${number(last / first, 2)}, ${number(last)} calls`,
    met: last <= 1 || last <= BACKLOG_GROWTH_MAX * first,
  };
}

const RSS_GROWTH_MAX = 1.1;

/** Compares the memory with its maximum, and the last third with the second: the first warms up. */
export function memoryBar(rssMb: readonly number[]): Bar {
  const bar = { name: "RSS", bar: `< ${RSS_MB_MAX} MB, flat` };
  if (rssMb.length < SAMPLES_MIN) return { ...bar, measured: "not measured", met: null };
  const growth = meanOfThird(rssMb, 2) / meanOfThird(rssMb, 1);
  const most = Math.max(...rssMb);
  return {
    ...bar,
    measured: `${number(most)} MB at most; last third ${number(growth, 2)} of the second`,
    met: most < RSS_MB_MAX && growth <= RSS_GROWTH_MAX,
  };
}
