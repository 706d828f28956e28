/**
 * Pages of the dashboard over many runs: the milliseconds of the server for each, and the bytes that the
 * first one takes with everything it loads.
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

/** Events of the longest run. */
const EVENTS = 5_000;
const EVENTS_PER_BATCH = 50;
const nowMs = Date.now();
const longRun = idOf("run") as RunId;

/** Each page as it is asked for. */
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

/** A call of the API that must be taken. */
async function call(url: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${keyOf(1)}` },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
}

/** Stores the longest run and one of each agent, as clients do. */
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

/** Signs in as a browser does; returns the session's cookie. */
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

/** Bytes of an answer as a browser gets it: compressed. */
async function bytesOf(url: string, cookie: string): Promise<{ bytes: number; text: string }> {
  const response = await fetch(url, { headers: { Cookie: cookie } });
  const text = await response.text();
  // The client takes the compression off, and the length with it.
  const gzipped = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return { bytes: (await new Response(gzipped).bytes()).length, text };
}

/** Bytes of the first page with everything it loads. */
async function firstPageBytes(url: string, cookie: string): Promise<number> {
  const { bytes, text } = await bytesOf(`${url}/dashboard`, cookie);
  const files = [...text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)];
  const loaded = await Promise.all(files.map(([, path]) => bytesOf(url + path, cookie)));
  return loaded.reduce((sum, file) => sum + file.bytes, bytes);
}

/** Measurements of a page. */
interface Asked {
  readonly ms: number[];
  status: number;
  bytes: number;
}

const HEAD = ["page", "status", "first ms", "p50 ms", "p99 ms", "bytes, plain"];

/** Asks for all pages, round by round. */
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
  const asked = new Map(
    PAGES.map((page): [string, Asked] => [page, { ms: [], status: 0, bytes: 0 }]),
  );
  for (let round = 0; round < rounds; round++) {
    // As on a service in use, today has changed since the page was asked for last.
    const started_at = formatInstant(Date.now());
    const labels = { agent: "busy", customer_id: "customer-7" };
    await call(url, "/v1/runs", { id: idOf("run"), ...labels, started_at });
    await service.worker.idle();
    for (const [page, measured] of asked) {
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
  print(table(HEAD, [...asked].map(([page, measured]) => rowOf(page, measured))));
  return barsOf([...asked.values()], firstBytes);
}

function rowOf(page: string, { ms, status, bytes }: Asked): string[] {
  return [
    page.replace(longRun, "<5,000 events>") || "/",
    String(status),
    number(ms[0] ?? NaN, 1),
    number(quantile(ms, 0.5), 1),
    number(quantile(ms, 0.99), 1),
    number(bytes),
  ];
}

function barsOf(asked: readonly Asked[], firstBytes: number): Bar[] {
  const slowest = Math.max(...asked.map(({ ms }) => quantile(ms, 0.5)));
  return [
    {
      name: "p50 of the slowest page",
      bar: `< ${BAR.ms} ms`,
      measured: `${number(slowest, 1)} ms`,
      met: slowest < BAR.ms && asked.every(({ status }) => status === 200),
    },
    {
      name: "the first page with everything it loads, compressed",
      bar: `< ${number(BAR.firstPageBytes)} bytes`,
      measured: `${number(firstBytes)} bytes`,
      met: firstBytes < BAR.firstPageBytes,
    },
  ];
}
