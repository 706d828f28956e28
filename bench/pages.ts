/**
 * Measures dashboard pages over many runs: the server's milliseconds for each page, and the bytes
 * of the first page with all its assets.
 */
import { Memory } from "../domain/core/memory.ts";
import { type RunId, uuid7Hex } from "../domain/core/ids.ts";
import { formatInstant } from "../domain/core/time.ts";
import { openStore } from "../kv/open.ts";
import { serve } from "../app/server.ts";
import { AGENTS, fillSums } from "./fill_sums.ts";
import { type Bar, print, say } from "./report.ts";
import { quantile } from "./stats.ts";
import { number, table } from "../tools/table.ts";
import { createBenchService, firstTeamOf, keyOf } from "./service.ts";
import { fillOnce } from "./fill_runs.ts";
import type { BenchOptions } from "./options.ts";

const BAR = { ms: 30, firstPageBytes: 60_000 } as const;

const EVENTS = 5_000;
const EVENTS_PER_BATCH = 50;
const nowMs = Date.now();
const longRun = idOf("run") as RunId;

/** Paths of the measured pages. */
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
  "/usage",
  "/keys",
  "/team",
  "/audit",
];

function idOf(kind: "run" | "evt"): string {
  return `${kind}_eu_${uuid7Hex(nowMs, crypto.getRandomValues(new Uint8Array(10)))}`;
}

/** Calls the API; throws if it refuses. */
async function call(url: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${keyOf(1)}` },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
}

/** Stores the longest run and one run of each agent, through the API. */
async function fillByCalls(url: string): Promise<void> {
  const started_at = formatInstant(nowMs);
  for (const agent of AGENTS) await call(url, "/v1/runs", { id: idOf("run"), agent, started_at });
  await call(url, "/v1/runs", { id: longRun, agent: "agent-3", started_at });
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1200, output_tokens: 340 };
  for (let at = 0; at < EVENTS; at += EVENTS_PER_BATCH) {
    const events = Array.from({ length: EVENTS_PER_BATCH }, (_, n) => ({
      id: idOf("evt"),
      type: "llm_call",
      ts: formatInstant(nowMs + at + n),
      data: { ...data, latency_ms: 900, prompt: "A question of some length. ".repeat(8) },
    }));
    await call(url, `/v1/runs/${longRun}/events`, { events });
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

/** Returns the compressed bytes of a response, as a browser receives it. */
async function bytesOf(url: string, cookie: string): Promise<{ bytes: number; text: string }> {
  const response = await fetch(url, { headers: { Cookie: cookie } });
  const text = await response.text();
  // The client decompresses the response and drops its length.
  const gzipped = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return { bytes: (await new Response(gzipped).bytes()).length, text };
}

/** Returns the bytes of the first page with all its assets. */
async function firstPageBytes(url: string, cookie: string): Promise<number> {
  const { bytes, text } = await bytesOf(`${url}/dashboard`, cookie);
  const files = [...text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)];
  const loaded = await Promise.all(files.map(([, path]) => bytesOf(url + path, cookie)));
  return loaded.reduce((sum, file) => sum + file.bytes, bytes);
}

/** Measurements of a page. */
interface PageMeasured {
  readonly ms: number[];
  status: number;
  bytes: number;
}

const HEAD = ["page", "status", "first ms", "p50 ms", "p99 ms", "bytes, plain"];

/** Requests all pages, round by round. */
export async function bench(
  { folder, runs = 1_000_000, rounds = 50, file = `${folder}/pages.kv` }: BenchOptions,
): Promise<Bar[]> {
  await fillOnce(file, runs);
  const store = await openStore(file, new Memory());
  await fillSums(store, await firstTeamOf(store), runs, nowMs);
  let tookMs = 0;
  const log = (line: string) => void (tookMs = JSON.parse(line).ms ?? tookMs);
  const service = createBenchService(store, { log });
  service.start();
  const server = serve(service.app.fetch, "127.0.0.1", 0);
  const { url } = server;
  await fillByCalls(url);
  await service.worker.idle();
  const cookie = await signIn(url);
  const measuredPages = new Map(
    PAGES.map((page): [string, PageMeasured] => [page, { ms: [], status: 0, bytes: 0 }]),
  );
  for (let round = 0; round < rounds; round++) {
    // Simulate a service in use: today's data has changed since the last request.
    const started_at = formatInstant(Date.now());
    const labels = { agent: "busy", customer_id: "customer-7" };
    await call(url, "/v1/runs", { id: idOf("run"), ...labels, started_at });
    await service.worker.idle();
    for (const [page, measured] of measuredPages) {
      const response = await fetch(`${url}/dashboard${page}`, { headers: { Cookie: cookie } });
      measured.bytes = (await response.bytes()).length;
      measured.status = response.status;
      measured.ms.push(tookMs);
    }
    if (round % 10 === 0) say(`pages: round ${round} of ${rounds} …`);
  }
  const firstBytes = await firstPageBytes(url, cookie);
  await server.drain();
  await service.stop();
  await store.close();
  print(`Pages of the dashboard over ${number(runs)} runs, ${rounds} times each.\n`);
  print(table(HEAD, [...measuredPages].map(([page, measured]) => rowOf(page, measured))));
  return barsOf([...measuredPages.values()], firstBytes);
}

function rowOf(page: string, { ms, status, bytes }: PageMeasured): string[] {
  return [
    page.replace(longRun, "<5,000 events>") || "/",
    String(status),
    number(ms[0] ?? NaN, 1),
    number(quantile(ms, 0.5), 1),
    number(quantile(ms, 0.99), 1),
    number(bytes),
  ];
}

function barsOf(measuredPages: readonly PageMeasured[], firstBytes: number): Bar[] {
  const slowest = Math.max(...measuredPages.map(({ ms }) => quantile(ms, 0.5)));
  return [
    {
      name: "p50 of the slowest page",
      bar: `< ${BAR.ms} ms`,
      measured: `${number(slowest, 1)} ms`,
      met: slowest < BAR.ms && measuredPages.every(({ status }) => status === 200),
    },
    {
      name: "the first page with everything it loads, compressed",
      bar: `< ${number(BAR.firstPageBytes)} bytes`,
      measured: `${number(firstBytes)} bytes`,
      met: firstBytes < BAR.firstPageBytes,
    },
  ];
}
