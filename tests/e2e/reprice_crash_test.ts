/** A job that prices calls anew outlives kill -9, while clients go on sending. */
import { assert, assertEquals } from "@std/assert";
import { openStore } from "../../kv/open.ts";
import { auditStore } from "../../kv/audit/audit.ts";
import { aFinish, aRun, runId } from "../support/builders.ts";
import { Process } from "../support/process.ts";
import { aModelCall, ATLAS, PRICE, REPRICE } from "../support/reprice.ts";
import { withFolder } from "../support/temp_store.ts";

const KEY = `apk_eu_${"c7".repeat(16)}`;
const RUNS = 2_000;
const CLIENTS = 16;

/** Longest wait for the worker to sum everything up. */
const SETTLE_MS = 30_000;

/** Numbers of runs that are sent while the job is under way, far from those before. */
const NEW_RUNS = 1_000_000;

async function send(url: string, method: string, path: string, body?: unknown) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${KEY}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const json = await response.json();
  assert(response.status < 300, `${path}: ${JSON.stringify(json)}`);
  return json;
}

/** Sends a closed run with one call. */
async function sendRun(url: string, n: number): Promise<void> {
  await send(url, "POST", "/v1/runs", aRun(n));
  await send(url, "POST", `/v1/runs/${runId(n)}/events`, { events: [aModelCall(1)] });
  await send(url, "POST", `/v1/runs/${runId(n)}/finish`, aFinish());
}

/** Sends runs until the server is gone; answers how many were begun. */
async function sendWhileThere(url: string, first: number): Promise<number> {
  let next = first;
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    try {
      for (;;) await sendRun(url, next++);
    } catch {
      // The process is gone: all of its runs are sent again later.
    }
  }));
  return next - first;
}

/** Asks for the job until it is as wanted. */
async function jobOnce(url: string, id: string, wanted: (job: Job) => boolean): Promise<Job> {
  for (;;) {
    const job = await send(url, "GET", `${REPRICE}/${id}`);
    if (wanted(job)) return job;
  }
}

interface Job {
  readonly state: string;
  readonly progress: number;
  readonly runs: number;
  readonly runs_failed: number;
  readonly llm_calls: number;
  readonly old_cost_usd: number;
  readonly difference_usd: number;
  readonly new_cost_usd: number;
}

Deno.test("after kill -9 in the middle of a job it ends, every call counted once, and all sums are exact", async () => {
  await withFolder(async (folder) => {
    const settings = { RUNLEDGER_KV: `${folder}/test.kv`, RUNLEDGER_KEY: KEY };
    let sent = 0;
    const { id, killedAt } = await (async () => {
      await using process = await Process.start(settings);
      const { url } = process;
      let next = 0;
      await Promise.all(Array.from({ length: CLIENTS }, async () => {
        while (next < RUNS) await sendRun(url, next++);
      }));
      await send(url, "PUT", "/v1/rate-card", PRICE);
      // The answer to the start comes only when the job is done: it is found in the list before.
      const asked = send(url, "POST", REPRICE, { model: ATLAS.model }).catch(() => null);
      const load = sendWhileThere(url, NEW_RUNS);
      let job: (Job & { readonly id: string }) | undefined;
      while (job === undefined || job.progress + job.runs === 0) {
        job = (await send(url, "GET", REPRICE)).jobs[0];
      }
      assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
      sent = await load;
      await asked;
      return { id: job.id, killedAt: job };
    })();
    assert(killedAt.state === "running" && killedAt.runs < RUNS, JSON.stringify(killedAt));

    await using process = await Process.start(settings);
    const { url } = process;
    await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = client; n < sent; n += CLIENTS) await sendRun(url, NEW_RUNS + n);
    }));
    const job = await jobOnce(url, id, ({ state }) => state === "done");
    assertEquals([job.runs_failed, job.difference_usd], [0, 0.003 * RUNS]);
    assert(job.runs >= RUNS && job.llm_calls === job.runs, JSON.stringify(job));
    assertEquals((await process.stop("SIGTERM")).code, 0);
    await assertExact(settings, RUNS + sent);
  });
});

/** Fails unless every run has its price, and spend is exactly what the runs come to. */
async function assertExact(
  settings: { readonly RUNLEDGER_KV: string; readonly RUNLEDGER_KEY: string },
  runs: number,
): Promise<void> {
  await using process = await Process.start(settings);
  const wanted = { runs, unpriced: 0, cost: 3 * runs };
  const endMs = performance.now() + SETTLE_MS;
  for (;;) {
    const { totals } = await send(process.url, "GET", "/v1/spend?from=2026-11-01&to=2026-11-30");
    const cost = Math.round(totals.cost_usd * 1_000);
    const found = { runs: totals.runs, unpriced: totals.unpriced.llm_calls, cost };
    // The worker takes up what the one before left; until then spend is behind.
    if (JSON.stringify(found) === JSON.stringify(wanted)) break;
    if (performance.now() > endMs) assertEquals(found, wanted);
  }
  assertEquals((await process.stop("SIGTERM")).code, 0);
  const store = await openStore(settings.RUNLEDGER_KV);
  try {
    const { differences, runs: audited } = await auditStore(store);
    assertEquals([differences, audited], [[], runs]);
  } finally {
    await store.close();
  }
}
