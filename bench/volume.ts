/** Measures a ledger of millions of runs: its size, its reads, and its opens against an empty file. */
import { Memory } from "../runtime/memory.ts";
import { formatInstant } from "../domain/core/time.ts";
import { openStore } from "../kv/open.ts";
import { serve } from "../app/server.ts";
import { number, table } from "../tools/table.ts";
import { checkpointedBytes, fillLedger, newId, SPREAD_MS } from "./fill.ts";
import { CONNECTIONS, inTurn, type Load, measure, type Measured } from "./load.ts";
import { startSide } from "./process.ts";
import { atLeast, type Bar, type BenchOptions, print, quantile, ratios, say } from "./report.ts";
import { createBenchService, keyOf } from "./service.ts";

const RUNS = 2_000_000;
/** Requests of each read, and unmeasured ones before them: the first ones include compilation. */
const READS = 100, WARM_UP_READS = 5;
const AUTHORIZATION = { Authorization: `Bearer ${keyOf(1)}` };

/**
 * Lists of runs, with filters from common to rare ones (`fill.ts` has the share of each), sums of
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
  const { url } = server;
  const headers = { ...AUTHORIZATION, Cookie: await signIn(url) };
  const nowMs = Date.now();
  const reads = READ.map((path) => ({ path, ms: [] as number[] }));
  for (let round = -WARM_UP_READS; round < READS; round++) {
    // Simulate a service in use: today's data has changed since the last request.
    const run = { id: newId("run", Date.now()), started_at: new Date(), agent: "busy" };
    const body = JSON.stringify({ ...run, customer_id: "customer-7" });
    await send(`${url}/v1/runs`, { method: "POST", headers, body });
    await service.worker.idle();
    const to = formatInstant(nowMs - Math.floor(Math.max(0, round) / READS * SPREAD_MS));
    for (const { path, ms } of reads) {
      const isPage = round > 0 && path.startsWith("/v1/runs");
      await send(`${url}${path}${isPage ? `&to=${to}` : ""}`, { headers });
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

/** Sends a request and reads its answer; throws if it is refused. */
async function send(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
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
