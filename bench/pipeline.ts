/**
 * Measures the worker: the time until a run's cost is final at 1,000 finishes a second, and the
 * throughput that the worker takes from the ingest.
 */
import { number } from "../tools/table.ts";
import { newId } from "./fill.ts";
import {
  inTurn,
  type Load,
  loadAt,
  type LoadPlan,
  loadRow,
  measure,
  type Measured,
  rateRatios,
  wrk,
} from "./load.ts";
import { untilIdle } from "./process.ts";
import { atLeast, type BenchPart, say } from "./report.ts";
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

/** Compares opens at full speed with and without the worker, while runs finish at their rate. */
export async function measurePipeline(
  { folder, rounds, seconds }: LoadPlan,
): Promise<BenchPart> {
  say("pipeline: starting the servers …");
  await using ours = await startSide("ours", `${folder}/worker.kv`);
  await using workless = await startSide("workless", `${folder}/workless.kv`);
  const life = await loadAt(LIFE, 2 * FINISHES_PER_SECOND, async (load) => {
    const [sent] = await Promise.all([wrk(workless.url, load), measure(workless, INGEST)]);
    return sent;
  });
  const results = await inTurn("pipeline", rounds, {
    ours: () => loadSide(ours, { ...life, seconds }),
    workless: () => loadSide(workless, { ...life, seconds }),
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
async function loadSide(side: Side, life: Load): Promise<Loaded> {
  const { seconds } = life;
  // Without a worker, no cost becomes final.
  const probing = side.kind === "ours" ? probe(side.url, seconds * 1000) : Promise.resolve([]);
  const [ingest, lived, lagsMs] = await Promise.all([
    measure(side, { ...INGEST, seconds }),
    wrk(side.url, life),
    probing,
  ]);
  await untilIdle(side.pid, IDLE_LIMIT_MS);
  return { ingest, finishes: lived.requestsPerSecond / 2, lagsMs };
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
  const id = newId("run", now.getTime());
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
