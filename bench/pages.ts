/**
 * Pages of the dashboard over many runs: the milliseconds of the server for each, and the bytes that the
 * first one takes with everything it loads.
 *
 * Usage: deno task bench-pages [RUNS] [TIMES] [FILE]; a file that `bench-runs` kept is used as it is.
 */
import { TIMERS } from "../kv/base/deadline.ts";
import { type RunId, type TeamId, uuid7Hex } from "../domain/core/ids.ts";
import { createRequestLimits } from "../domain/teams/rate_limit.ts";
import { formatInstant } from "../domain/core/time.ts";
import { keys } from "../kv/base/keys.ts";
import { openStore } from "../kv/open.ts";
import { getMany } from "../kv/store.ts";
import { serve } from "../app/server.ts";
import { createService } from "../app/compose.ts";
import { fillList } from "./fill_list.ts";
import { AGENTS, fillSums } from "./fill_sums.ts";
import { describeMachine } from "./machine.ts";
import { print, say } from "./say.ts";
import { quantile } from "./stats.ts";
import { number, table } from "./table.ts";
import { createTeams, keyOf } from "./teams.ts";

const [count = 1_000_000, times = 50] = Deno.args.slice(0, 2).map(Number);
const kept = Deno.args[2];
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

/** Signs in as a browser does; answers the session's cookie. */
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

/** What a page came to. */
interface Asked {
  readonly ms: number[];
  status: number;
  bytes: number;
}

const folder = await Deno.makeTempDir({ prefix: "runledger-bench-" });
let tookMs = 0;
try {
  const store = await openStore(kept ?? `${folder}/pages.kv`);
  await createTeams(store, 1);
  const [first] = await getMany(store, [keys.firstTeam()]);
  const team = first?.value as TeamId;
  if (kept === undefined) await fillList(store, team, count, nowMs);
  await fillSums(store, team, count, nowMs);
  const service = createService({
    store,
    timers: TIMERS,
    environment: {
      now: () => Date.now(),
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    },
    region: "eu",
    refusedSecret: null,
    limits: createRequestLimits(() => performance.now()),
    mailer: null,
    log: (line) => void (tookMs = JSON.parse(line).ms ?? tookMs),
    draining: () => false,
  });
  service.start();
  const server = serve(service.app.fetch, "127.0.0.1", 0);
  const { url } = server;
  await fillByCalls(url);
  await service.worker.idle();
  const cookie = await signIn(url);
  const asked = new Map<string, Asked>();
  for (let round = 0; round < times; round++) {
    // As on a service in use, today is never as it was looked at last.
    const started_at = formatInstant(Date.now());
    const labels = { agent: "busy", customer_id: "customer-7" };
    await call(url, "/v1/runs", { id: idOf("run"), ...labels, started_at });
    await service.worker.idle();
    for (const page of PAGES) {
      const known = asked.get(page) ?? { ms: [], status: 0, bytes: 0 };
      asked.set(page, known);
      const response = await fetch(`${url}/dashboard${page}`, { headers: { Cookie: cookie } });
      known.bytes = (await response.bytes()).length;
      known.status = response.status;
      known.ms.push(tookMs);
    }
    if (round % 10 === 0) say(`pages: round ${round} of ${times} …`);
  }
  const firstBytes = await firstPageBytes(url, cookie);
  await server.drain();
  await service.stop();
  await store.close();
  const rows = [...asked].map(([page, { ms, status, bytes }]) => [
    page.replace(longRun, "<5,000 events>") || "/",
    String(status),
    number(ms[0] ?? NaN, 1),
    number(quantile(ms, 0.5), 1),
    number(quantile(ms, 0.99), 1),
    number(bytes),
  ]);
  print(`${await describeMachine(folder)}\n`);
  print(`Pages of the dashboard over ${number(count)} runs, ${times} times each.\n`);
  print(table(["page", "status", "first ms", "p50 ms", "p99 ms", "bytes, plain"], rows));
  const isGood = ({ ms, status }: Asked) => status === 200 && quantile(ms, 0.5) < BAR.ms;
  const met = [...asked.values()].every(isGood) && firstBytes < BAR.firstPageBytes;
  print(`\nThe first page with everything it loads: ${number(firstBytes)} bytes compressed.`);
  print(
    `The bars are ${BAR.ms} ms and ${number(BAR.firstPageBytes)} bytes: ${
      met ? "met" : "not met"
    }.`,
  );
} finally {
  await Deno.remove(folder, { recursive: true });
}
