/**
 * Measures pages over many runs by the server's milliseconds: pages of the dashboard, and pages of
 * the list of runs by filter, first ones and others anywhere in the month.
 */
import { Memory } from "../domain/core/memory.ts";
import { formatInstant } from "../domain/core/time.ts";
import { openStore } from "../kv/open.ts";
import { serve } from "../app/server.ts";
import { number, table } from "../tools/table.ts";
import { filledFile, newId, SPREAD_MS } from "./fill.ts";
import { type Bar, belowMs, type BenchOptions, print, say } from "./report.ts";
import { createBenchService, keyOf } from "./service.ts";
import { quantile } from "./stats.ts";

const EVENTS = 5_000;
const EVENTS_PER_BATCH = 50;
/** Unmeasured rounds: the first ones include compilation. */
const WARM_UP_ROUNDS = 5;
const nowMs = Date.now();
const longRun = newId("run", nowMs);
const AUTHORIZATION = { Authorization: `Bearer ${keyOf(1)}` };

const PAGES = [
  "",
  "/runs",
  "/runs?agent=busy",
  "/runs?status=failed",
  "/runs?customer_id=customer-7",
  "/runs?agent=busy&status=failed",
  `/runs/${longRun}`,
  "/agents",
  "/agents/agent-3",
  "/spend",
  "/spend?group_by=model",
  "/spend?group_by=customer",
  "/rate-card",
  "/plan",
  "/keys",
  "/search?q=acme",
  "/audit",
];

/** Filters of the list, from common to rare ones; `fill.ts` has the share of each. */
const FILTERS = [
  "",
  "agent=busy",
  "agent=rare",
  "agent=nobody",
  "customer_id=customer-7",
  "feature=feature-3",
  "feature=new",
  "status=success",
  "status=failed",
  "status=running",
  "kind=heartbeat",
  "model=o3",
  "model=o1&provider=openai",
  "has=unpriced",
  "has=late",
  "has=orphan",
  "has=failed_check",
  "min_cost_usd=0.001",
  "min_cost_usd=9",
  "min_cost_usd=5000",
  "agent=busy&status=failed",
  "agent=agent-3&feature=feature-3",
  "customer_id=customer-7&status=failed",
  "agent=rare&has=late",
  "agent=busy&kind=run&status=success&feature=feature-3&model=gpt-4.1",
  "customer_id=customer-7&feature=feature-1&model=gpt-4o",
  "feature=feature-1&model=gpt-4o-mini&status=success&kind=heartbeat",
  "q=7f3",
  "q=zz",
];

/** Runs of a filled ledger. */
const RUNS = 1_000_000;

/** Filters of the list, and sums, that are read from a larger ledger. */
const LISTS = ["", "agent=agent-3", "status=failed", "customer_id=customer-7", "has=unpriced"];
const SUMS = ["", "?group_by=agent", "?group_by=model", "?group_by=customer"]
  .map((query) => `/v1/spend${query}`);

/** Measures pages of the dashboard. */
export async function benchPages(options: BenchOptions): Promise<Bar[]> {
  const { runs = RUNS } = options;
  return await measurePages(await filledFile(options, runs), options, PAGES, {
    rounds: 50,
    pathOf: (page) => `/dashboard${page}`,
    bar: { name: "p50 of the slowest page", quantile: 0.5, ms: 30 },
  });
}

/** Returns the path of a page of the list that starts `back` of the filled time before its end. */
function listPath(filter: string, back: number): string {
  const to = back === 0 ? "" : `&to=${formatInstant(nowMs - Math.floor(back * SPREAD_MS))}`;
  return `/v1/runs?limit=50&${filter}${to}`;
}

/** Measures pages of the list of runs. */
export async function benchRuns(options: BenchOptions): Promise<Bar[]> {
  const { runs = RUNS } = options;
  return await measurePages(await filledFile(options, runs), options, FILTERS, {
    rounds: 100,
    pathOf: listPath,
    bar: { name: "p99 of a page of the list of runs, whatever the filter", quantile: 0.99, ms: 20 },
  });
}

/** Measures the list by some filters, sums of spend, and the overview of the dashboard. */
export async function measureReads(file: string, options: BenchOptions): Promise<void> {
  const reads = [...LISTS, ...SUMS, "/dashboard"];
  await measurePages(file, options, reads, {
    rounds: 100,
    pathOf: (read, back) => read.startsWith("/") ? read : listPath(read, back),
    bar: null,
  });
}

interface PageKind {
  /** Default number of measured rounds. */
  readonly rounds: number;
  /** Returns the path of a page that starts `back` of the filled time before its end. */
  readonly pathOf: (page: string, back: number) => string;
  /** Limit of a quantile of the slowest page; null for none. */
  readonly bar: { readonly name: string; readonly quantile: number; readonly ms: number } | null;
}

/** Requests all pages, round by round. */
async function measurePages(
  file: string,
  options: BenchOptions,
  pages: readonly string[],
  { pathOf, bar, rounds: usualRounds }: PageKind,
): Promise<Bar[]> {
  const { rounds = usualRounds } = options;
  const store = await openStore(file, new Memory());
  let tookMs = 0;
  const log = (line: string) => void (tookMs = JSON.parse(line).ms ?? tookMs);
  const service = createBenchService(store, { log });
  service.start();
  const server = serve(service.app.fetch, "127.0.0.1", 0);
  const { url } = server;
  await storeLongRun(url);
  const headers = { ...AUTHORIZATION, Cookie: await signIn(url) };
  const measured = pages.map((page) => ({ page, firstMs: NaN, ms: [] as number[], bytes: 0 }));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    // Simulate a service in use: today's data has changed since the last request.
    const labels = { agent: "busy", customer_id: "customer-7" };
    await post(url, "/v1/runs", {
      id: newId("run", Date.now()),
      started_at: new Date(),
      ...labels,
    });
    await service.worker.idle();
    for (const one of measured) {
      const response = await fetch(url + pathOf(one.page, Math.max(0, round) / rounds), {
        headers,
      });
      one.bytes = (await response.bytes()).length;
      if (response.status !== 200) throw new Error(`${one.page}: ${response.status}`);
      if (round === -WARM_UP_ROUNDS) one.firstMs = tookMs;
      if (round >= 0) one.ms.push(tookMs);
    }
    if (round % 10 === 0) say(`round ${round} of ${rounds} …`);
  }
  await server.drain();
  await service.stop();
  await store.close();
  print(`Each page ${rounds} times.\n`);
  const rows = measured.map(({ page, firstMs, ms, bytes }) => [
    pathOf(page, 0).replace(longRun, "<5,000 events>"),
    ...[firstMs, quantile(ms, 0.5), quantile(ms, 0.99)].map((value) => number(value, 1)),
    number(bytes),
  ]);
  print(table(["page", "first ms", "p50 ms", "p99 ms", "bytes, plain"], rows));
  if (bar === null) return [];
  const slowestMs = Math.max(...measured.map(({ ms }) => quantile(ms, bar.quantile)));
  return [belowMs(bar.name, bar.ms, slowestMs)];
}

/** Calls the API; throws if it refuses. */
async function post(url: string, path: string, body: unknown): Promise<void> {
  const init = { method: "POST", headers: AUTHORIZATION, body: JSON.stringify(body) };
  const response = await fetch(url + path, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
}

/** Stores a run of many events through the API. */
async function storeLongRun(url: string): Promise<void> {
  const started_at = formatInstant(nowMs);
  await post(url, "/v1/runs", { id: longRun, agent: "agent-3", started_at });
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1200, output_tokens: 340 };
  const prompt = "A question of some length. ".repeat(8);
  for (let at = 0; at < EVENTS; at += EVENTS_PER_BATCH) {
    const events = Array.from({ length: EVENTS_PER_BATCH }, (_, n) => ({
      id: newId("evt", nowMs),
      type: "llm_call",
      ts: formatInstant(nowMs + at + n),
      data: { ...data, latency_ms: 900, prompt },
    }));
    await post(url, `/v1/runs/${longRun}/events`, { events });
  }
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
