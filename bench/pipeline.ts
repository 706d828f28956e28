/**
 * The worker behind the requests: how long after its finish a run's cost is final while 1,000 runs
 * finish a second, and what the worker takes from the ingest.
 */
import { uuid7Hex } from "../domain/core/ids.ts";
import { type Figures, figuresOf } from "./calls.ts";
import { type Load, measure, type Measured, nextPause, wrk } from "./measure.ts";
import { untilIdle } from "./process.ts";
import { say } from "./say.ts";
import { type Side, startSide } from "./sides.ts";
import { ratios, rotate } from "./stats.ts";
import { keyOf } from "./teams.ts";

/** What the part came to. */
export interface PipelineResult {
  /** Opens while runs finish, with the worker. */
  readonly ingest: Figures;
  /** With the worker over without, round by round. */
  readonly overWorkless: readonly number[];
  /** Finishes a second, round by round. */
  readonly finishesPerSecond: readonly number[];
  /** From the answer to a finish until its cost is final, of all probes in rising order. */
  readonly lagsMs: readonly number[];
}

const FINISHES_PER_SECOND = 1_000;
/** Each finish has an open in front of it. */
const LIFE: Load = { call: "life", connections: 32, seconds: 1 };
const INGEST: Load = { call: "open", connections: 64, seconds: 1 };
const PROBE_PAUSE_MS = 50;
const IDLE_LIMIT_MS = 120_000;

/** Measures it. */
export async function measurePipeline(
  folder: string,
  rounds: number,
  seconds: number,
): Promise<PipelineResult> {
  say("pipeline: starting the servers …");
  await using ours = await startSide("ours", `${folder}/worker.kv`);
  await using workless = await startSide("workless", `${folder}/workless.kv`);
  const pauseMs = await findPause(workless);
  const found = { ours: [] as Loaded[], workless: [] as Loaded[] };
  for (let round = 0; round < rounds; round++) {
    for (const side of rotate([ours, workless], round)) {
      say(`pipeline: round ${round + 1}/${rounds}, ${side.kind} …`);
      const loaded = await loadSide(side, seconds, pauseMs);
      found[side.kind === "ours" ? "ours" : "workless"].push(loaded);
    }
  }
  const rates = (all: readonly Loaded[]) => all.map(({ ingest }) => ingest.requestsPerSecond);
  return {
    ingest: figuresOf(found.ours.map(({ ingest }) => ingest)),
    overWorkless: ratios(rates(found.ours), rates(found.workless)),
    finishesPerSecond: found.ours.map(({ finishes }) => finishes),
    lagsMs: found.ours.flatMap(({ lagsMs }) => lagsMs).sort((a, b) => a - b),
  };
}

interface Loaded {
  readonly ingest: Measured;
  readonly finishes: number;
  readonly lagsMs: readonly number[];
}

/** Opens as fast as they go, runs that finish at their rate beside them, and probes. */
async function loadSide(side: Side, seconds: number, pauseMs: number): Promise<Loaded> {
  // Nobody sums up anything on the side without a worker.
  const probing = side.kind === "ours" ? probe(side.url, seconds * 1000) : Promise.resolve([]);
  const [ingest, life, lagsMs] = await Promise.all([
    measure(side, { ...INGEST, seconds }),
    wrk(side.url, { ...LIFE, seconds, pauseMs }),
    probing,
  ]);
  await untilIdle(side.pid, IDLE_LIMIT_MS);
  return { ingest, finishes: life.requestsPerSecond / 2, lagsMs };
}

/** The pause that leads to the wanted finishes a second while opens go as fast as they can. */
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

/** Sends runs of its own and looks how long each takes to have its final cost. */
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
  const random = crypto.getRandomValues(new Uint8Array(10));
  const id = `run_eu_${uuid7Hex(now.getTime(), random)}`;
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
