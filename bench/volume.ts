/** Measures a ledger of millions of runs: its size, its reads, and its opens against an empty file. */
import { Memory } from "../runtime/memory.ts";
import { formatInstant } from "../domain/core/time.ts";
import { openStore } from "../kv/open.ts";
import { serve } from "../app/server.ts";
import { number, table } from "../tools/table.ts";
import { checkpointedBytes, fillLedger, newId, SPREAD_MS } from "./fill.ts";
import { CONNECTIONS, inTurn, type Load, measure, rateRatios } from "./load.ts";
import { atLeast, type Bar, type BenchOptions, print, say } from "./report.ts";
import { createBenchService, keyOf } from "./service.ts";
import { startSide } from "./sides.ts";
import { quantile } from "./stats.ts";

const RUNS = 2_000_000;
/** Requests of each read, and unmeasured ones before them: the first ones include compilation. */
const READS = 100, WARM_UP_READS = 5;
const AUTHORIZATION = { Authorization: `Bearer ${keyOf(1)}` };

/** Filters of the list of runs, from common to rare ones; `fill.ts` has the share of each. */
const FILTERS = ["", "agent=agent-3", "status=failed", "customer_id=customer-7", "has=unpriced"];

/** Other reads: sums of spend, and the overview of the dashboard. */
const OTHERS = [
  ...["", "?group_by=agent", "?group_by=model", "?group_by=customer"].map((query) =>
    `/v1/spend${query}`
  ),
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
    return await measure(side, load);
  };
  const { full, empty } = await inTurn("volume: open", rounds, {
    empty: () => measureOn(`${folder}/empty-${empties++}.kv`),
    full: () => measureOn(file),
  });
  return [atLeast(`open: ${number(runs)} stored runs ÷ empty`, 0.85, rateRatios(full, empty))];
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
  const reads = [
    ...FILTERS.map((filter) => ({
      name: `/v1/runs?limit=50&${filter}`,
      pathAt: (back: number) => {
        const to = formatInstant(nowMs - Math.floor(back * SPREAD_MS));
        return `/v1/runs?limit=50&${filter}${back === 0 ? "" : `&to=${to}`}`;
      },
    })),
    ...OTHERS.map((name) => ({ name, pathAt: () => name })),
  ].map((read) => ({ ...read, ms: [] as number[] }));
  for (let round = -WARM_UP_READS; round < READS; round++) {
    // Simulate a service in use: today's data has changed since the last request.
    const body = { id: newId("run", Date.now()), started_at: new Date(), agent: "busy" };
    await send(`${url}/v1/runs`, {
      method: "POST",
      headers,
      body: JSON.stringify({ ...body, customer_id: "customer-7" }),
    });
    await service.worker.idle();
    for (const { pathAt, ms } of reads) {
      await send(url + pathAt(Math.max(0, round) / READS), { headers });
      if (round >= 0) ms.push(tookMs);
    }
    if (round % 10 === 0) say(`round ${round} of ${READS} …`);
  }
  await server.drain();
  await service.stop();
  await store.close();
  const rows = reads.map(({ name, ms }) => [
    name,
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
