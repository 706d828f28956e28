/**
 * Measures the worker: the time until a run's cost is final at 1,000 finishes a second, and the
 * throughput that the worker takes from the ingest.
 */
import { uuid7Hex } from "../domain/core/ids.ts";
import { number } from "../tools/table.ts";
import type { IngestPart, IngestPlan } from "./options.ts";
import {
  inTurn,
  type Load,
  loadRow,
  measure,
  type Measured,
  nextPause,
  rateRatios,
  wrk,
} from "./load.ts";
import { untilIdle } from "./process.ts";
import { atLeast, say } from "./report.ts";
import { type Side, startSide } from "./sides.ts";
import { median } from "./stats.ts";
import { keyOf } from "./service.ts";

const FINISHES_PER_SECOND = 1_000;
/** Each finish follows an open. */
const LIFE: Load = { call: "life", connections: 32, seconds: 1 };
const INGEST: Load = { call: "open", connections: 64, seconds: 1 };
const PROBE_PAUSE_MS = 50;
const IDLE_LIMIT_MS = 120_000;
const INGEST_RATIO_MIN = 0.8;
const LAG_MS_MAX = 1_000;

export async function measurePipeline(
  { folder, rounds, seconds }: IngestPlan,
): Promise<IngestPart> {
  say("pipeline: starting the servers …");
  await using ours = await startSide("ours", `${folder}/worker.kv`);
  await using workless = await startSide("workless", `${folder}/workless.kv`);
  const pauseMs = await findPause(workless);
  const results = await inTurn("pipeline", rounds, {
    ours: () => loadSide(ours, seconds, pauseMs),
    workless: () => loadSide(workless, seconds, pauseMs),
  });
  const ingest = results.ours.map((loaded) => loaded.ingest);
  const ratios = rateRatios(ingest, results.workless.map((loaded) => loaded.ingest));
  const lagsMs = results.ours.flatMap((loaded) => loaded.lagsMs);
  const worstMs = Math.max(...lagsMs);
  const rate = median(results.ours.map(({ finishes }) => finishes));
  return {
    rows: [loadRow("open, beside 1,000 finishes a second", INGEST.connections, ingest)],
    bars: [
      atLeast(
        "ingest with the worker ÷ without, beside 1,000 finishes a second",
        INGEST_RATIO_MIN,
        ratios,
      ),
      {
        name: "cost final after a finish",
        bar: `< ${number(LAG_MS_MAX)} ms`,
        // The maximum of all probes: a client waits for each of them.
        measured: `${number(worstMs)} ms at most, ${number(median(lagsMs))} ms median of ` +
          `${lagsMs.length}, at ${number(rate)} finishes a second`,
        met: worstMs < LAG_MS_MAX,
      },
    ],
  };
}

interface Loaded {
  readonly ingest: Measured;
  readonly finishes: number;
  readonly lagsMs: readonly number[];
}

/** Loads a server with opens at full speed, finishes at their rate, and probes. */
async function loadSide(side: Side, seconds: number, pauseMs: number): Promise<Loaded> {
  // Without a worker, no cost becomes final.
  const probing = side.kind === "ours" ? probe(side.url, seconds * 1000) : Promise.resolve([]);
  const [ingest, life, lagsMs] = await Promise.all([
    measure(side, { ...INGEST, seconds }),
    wrk(side.url, { ...LIFE, seconds, pauseMs }),
    probing,
  ]);
  await untilIdle(side.pid, IDLE_LIMIT_MS);
  return { ingest, finishes: life.requestsPerSecond / 2, lagsMs };
}

/** Finds the pause for the wanted rate of finishes, while opens run at full speed. */
async function findPause(side: Side): Promise<number> {
  const wanted = 2 * FINISHES_PER_SECOND;
  let pauseMs = 1000 * LIFE.connections / wanted;
  for (let attempt = 0; attempt < 2; attempt++) {
    const [, life] = await Promise.all([
      measure(side, INGEST),
      wrk(side.url, { ...LIFE, pauseMs }),
    ]);
    pauseMs = nextPause(pauseMs, LIFE.connections, life.requestsPerSecond, wanted);
  }
  return pauseMs;
}

/** Sends runs and measures how long each takes to have its final cost. */
async function probe(url: string, ms: number): Promise<number[]> {
  const endMs = performance.now() + ms;
  const lagsMs: number[] = [];
  while (performance.now() < endMs) {
    lagsMs.push(await lagOf(url));
    await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS));
  }
  return lagsMs;
}

async function lagOf(url: string): Promise<number> {
  const now = new Date();
  const id = `run_eu_${uuid7Hex(now.getTime(), crypto.getRandomValues(new Uint8Array(10)))}`;
  const headers = { Authorization: `Bearer ${keyOf(1)}` };
  const send = async (path: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { headers, ...init });
    return await response.json();
  };
  await send("/v1/runs", { id, agent: "probe", started_at: now });
  await send(`/v1/runs/${id}/finish`, { status: "success", finished_at: now });
  const finishedMs = performance.now();
  while ((await send(`/v1/runs/${id}`)).cost.state !== "final");
  return performance.now() - finishedMs;
}
