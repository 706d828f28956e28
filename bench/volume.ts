/**
 * Measures a ledger of millions of runs: its size, its reads, and its opens against an empty file.
 *
 * It has 60 days of runs of one team, as calls and the worker write them: half of them heartbeats, 200
 * agents, 1,000 customers, many runs of most kinds and few of some.
 */
import { isOfStore } from "../domain/core/errors.ts";
import { type EventId, type RunId, uuid7Hex } from "../domain/core/ids.ts";
import type { RawJson } from "../domain/core/raw_json.ts";
import { formatInstant } from "../domain/core/time.ts";
import { type RunEvent, storedFacts } from "../domain/runs/event.ts";
import { type FinishStatus, HEARTBEAT_STATUSES, STATUS_OF_HEARTBEAT } from "../domain/runs/run.ts";
import type { RunStore } from "../domain/runs/run_store.ts";
import type { Team } from "../domain/teams/team.ts";
import { Memory } from "../runtime/memory.ts";
import { openStore } from "../kv/open.ts";
import { ENVIRONMENT } from "../app/start.ts";
import { serve } from "../app/server.ts";
import { runStoreOf } from "../tests/support/harness/stores.ts";
import { Random } from "../tools/random.ts";
import { number, table } from "../tools/table.ts";
import {
  call,
  CONNECTIONS,
  inTurn,
  type Load,
  measure,
  type Measured,
  RUN_EVENTS,
} from "./load.ts";
import { startSide } from "./process.ts";
import { atLeast, type Bar, type BenchOptions, print, quantile, ratios, say } from "./report.ts";
import { AUTHORIZATION, createBenchService, createTeam, keyOf } from "./service.ts";

const RUNS = 2_000_000;
/** Requests of each read, and unmeasured ones before them: the first ones include compilation. */
const READS = 100, WARM_UP_READS = 5;

/**
 * Lists of runs, with filters from common to rare ones (`storeRun` has the share of each), sums of
 * spend, and the overview of the dashboard.
 */
const READ = [
  ...["", "agent=agent-3", "status=failed", "customer_id=customer-7", "has=unpriced"]
    .map((filter) => `/v1/runs?limit=50&${filter}`),
  ...["", "?group_by=agent", "?group_by=model", "?group_by=customer"]
    .map((query) => `/v1/spend${query}`),
  "/dashboard",
];

/** Fills a ledger and measures it. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const { folder, runs = RUNS, rounds = 3, seconds = 3 } = options;
  const file = `${folder}/filled.kv`;
  await fillLedger(file, runs);
  const bytes = await checkpointedBytes(file);
  print(`${number(runs)} runs: ${number(bytes)} bytes, ${number(bytes / runs)} a run.`);
  await measureReads(file);
  const load: Load = { call: "open", connections: CONNECTIONS, seconds };
  let empties = 0;
  // Opens fill the file, so each measurement of `empty` has a new one.
  const measureOn = async (path: string) => {
    await using side = await startSide("workless", path);
    return await measure([side], load);
  };
  const { full, empty } = await inTurn("volume: open", rounds, {
    empty: () => measureOn(`${folder}/empty-${empties++}.kv`),
    full: () => measureOn(file),
  });
  const rate = ({ requestsPerSecond }: Measured) => requestsPerSecond;
  const bar = `open: ${number(runs)} stored runs ÷ empty`;
  return [atLeast(bar, 0.85, ratios(full, empty, rate))];
}

/** Measures reads by the server's milliseconds: pages of lists anywhere in the filled time. */
async function measureReads(file: string): Promise<void> {
  const store = await openStore(file, new Memory());
  let tookMs = 0;
  const log = (line: string) => void (tookMs = JSON.parse(line).ms ?? tookMs);
  const service = createBenchService(store, { log });
  service.start();
  const server = serve(service.app.fetch, "127.0.0.1", 0);
  const headers = { ...AUTHORIZATION, Cookie: await signIn(server.url) };
  const nowMs = Date.now();
  const reads = READ.map((path) => ({ path, ms: [] as number[] }));
  for (let round = -WARM_UP_READS; round < READS; round++) {
    // Simulate a service in use: today's data has changed since the last request.
    const run = { id: newId("run", Date.now()), started_at: new Date(), agent: "busy" };
    await call(server, "/v1/runs", { ...run, customer_id: "customer-7" });
    await service.worker.idle();
    const to = formatInstant(nowMs - Math.floor(Math.max(0, round) / READS * SPREAD_MS));
    for (const { path, ms } of reads) {
      const isPage = round > 0 && path.startsWith("/v1/runs");
      await call(server, isPage ? `${path}&to=${to}` : path, undefined, headers);
      if (round >= 0) ms.push(tookMs);
    }
    if (round % 10 === 0) say(`round ${round} of ${READS} …`);
  }
  await server.drain();
  await service.stop();
  await store.close();
  const rows = reads.map(({ path, ms }) => [
    path,
    ...[0.5, 0.99].map((part) => number(quantile(ms, part), 1)),
  ]);
  print(table(["read", "p50 ms", "p99 ms"], rows));
}

/** Signs in as a browser does; returns the session cookie. */
async function signIn(url: string): Promise<string> {
  const { headers, body } = await fetch(`${url}/dashboard/sign-in`, {
    method: "POST",
    headers: { "Sec-Fetch-Site": "same-origin" },
    body: new URLSearchParams({ key: keyOf(1) }),
    redirect: "manual",
  });
  await body?.cancel();
  return (headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

/** Period over which the runs are spread, milliseconds. */
const SPREAD_MS = 60 * 86_400_000;

const IN_FLIGHT = 64;
const RUNS_PER_PART = 10_000;
const AGENTS = 198, CUSTOMERS = 1_000, FEATURES = 7;
/** The same for each ledger: runs are stored in the order of their numbers. */
const random = new Random("fill");
const MODELS = ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "o3", "o4-mini"] as const;

/** Fills a file with runs of the first team. */
async function fillLedger(file: string, count: number): Promise<void> {
  const store = await openStore(file, new Memory());
  const team = await createTeam(store);
  const runs = runStoreOf(store);
  const service = createBenchService(store, { log: () => {} });
  service.start();
  const startMs = Date.now();
  const fromMs = startMs - SPREAD_MS;
  let next = 0;
  // The worker finishes each part, so that the progress covers both.
  for (let end = 0; end < count;) {
    end = Math.min(count, end + RUNS_PER_PART);
    await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
      while (next < end) {
        const n = next++;
        await storeRun(runs, team, n, fromMs + Math.floor(n * SPREAD_MS / count));
      }
    }));
    await service.worker.idle();
    const perSecond = end * 1_000 / (Date.now() - startMs);
    say(`${number(end)} of ${number(count)} runs, ${number(perSecond)} a second …`);
  }
  await service.stop();
  await store.close();
}

/** Returns the size of a file that no process has open: opening and closing it empties its log. */
export async function checkpointedBytes(file: string): Promise<number> {
  const kv = await Deno.openKv(file);
  await kv.get(["format"]);
  kv.close();
  return (await Deno.stat(file)).size;
}

/** Returns a new id as clients make them: half are UUIDv7, and half are random, as trace ids are. */
export function newId(kind: "run" | "evt", ms: number): string {
  const random = ENVIRONMENT.random(16);
  const hex = random[15]! % 2 === 0 ? uuid7Hex(ms, random.subarray(0, 10)) : random.toHex();
  return `${kind}_eu_${hex}`;
}

/** Selects one in `every`. */
function isOneIn(every: number): boolean {
  return random.chance(1 / every);
}

/** Repeats a call as clients do: the disk may stall for longer than the service waits. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isOfStore(error)) throw error;
    }
  }
}

async function storeRun(runs: RunStore, team: Team, n: number, at: number): Promise<void> {
  const id = newId("run", at) as RunId;
  const status = statusOf();
  const labels = {
    id,
    agent: isOneIn(10_000) ? "rare" : isOneIn(2) ? "busy" : `agent-${n % AGENTS}`,
    startedAt: at,
    customerId: `customer-${n % CUSTOMERS}`,
    feature: isOneIn(10_000) ? "new" : `feature-${n % FEATURES}`,
  };
  if (isOneIn(2)) {
    const word = HEARTBEAT_STATUSES.find((word) => STATUS_OF_HEARTBEAT[word] === status) ?? "ok";
    const cost = BigInt(Math.round(10 ** (8 + n * 7 % 5_000 / 1_000)));
    await repeated(() => runs.heartbeat(team, { ...labels, status: word, reported: { cost } }, at));
    return;
  }
  const events = Array.from({ length: RUN_EVENTS }, (_, call) => modelCall(n, at + call));
  const isOrphan = isOneIn(10_000), isLate = isOneIn(1_000);
  if (!isOrphan) await repeated(() => runs.open(team, labels, at));
  if (!isLate) await repeated(() => runs.append(team, id, events, at + 1_000));
  const finishedAt = at + 5_000;
  if (status !== null) {
    await repeated(() => runs.finish(team, id, { status, finishedAt }, finishedAt));
  }
  if (isLate) await repeated(() => runs.append(team, id, events, at + 9_000));
}

function statusOf(): FinishStatus | null {
  if (isOneIn(20)) return "failed";
  if (isOneIn(100)) return "timeout";
  if (isOneIn(100)) return "cancelled";
  return isOneIn(1_000) ? null : "success";
}

/** Builds a call of 100 to 10,000,000 tokens. */
function modelCall(n: number, ts: number): RunEvent {
  const isUnpriced = isOneIn(1_000);
  const data = JSON.stringify({
    provider: "openai",
    model: isUnpriced ? "in-house" : isOneIn(10_000) ? "o1" : MODELS[n % MODELS.length],
    input_tokens: Math.round(10 ** (2 + n * 7 % 5_000 / 1_000)),
    output_tokens: 340,
  }) as RawJson;
  const id = newId("evt", ts) as EventId;
  return { id, type: "llm_call", ts, data, facts: storedFacts("llm_call", data) };
}
