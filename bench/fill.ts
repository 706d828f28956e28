/**
 * Fills a ledger with a month of runs of one team, as calls and the worker write them: many of most
 * kinds, few of some.
 */
import { runStoreOf } from "../tests/support/harness/stores.ts";
import { type EventId, type RunId, uuid7Hex } from "../domain/core/ids.ts";
import { Memory } from "../domain/core/memory.ts";
import type { RawJson } from "../domain/core/raw_json.ts";
import { type RunEvent, storedFacts } from "../domain/runs/event.ts";
import type { FinishStatus } from "../domain/runs/run.ts";
import type { RunStore } from "../domain/runs/store.ts";
import type { Team } from "../domain/teams/team.ts";
import { openStore } from "../kv/open.ts";
import { say } from "./report.ts";
import { createBenchService, createTeams, ENVIRONMENT } from "./service.ts";

/** Period over which the runs are spread, milliseconds. */
export const SPREAD_MS = 30 * 86_400_000;

const IN_FLIGHT = 256;
const RUNS_PER_SAY = 100_000;
const MODELS = ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "o3", "o4-mini"] as const;

/** Fills a file with runs of the first team. */
export async function fillLedger(file: string, count: number): Promise<void> {
  const store = await openStore(file, new Memory());
  const team = await createTeams(store, 1);
  const runs = runStoreOf(store);
  const service = createBenchService(store, { log: () => {} });
  service.start();
  const fromMs = Date.now() - SPREAD_MS;
  let next = 0;
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (next < count) {
      const n = next++;
      if (n % RUNS_PER_SAY === 0) say(`${n} of ${count} runs are stored …`);
      await storeRun(runs, team, n, fromMs + Math.floor(n * SPREAD_MS / count));
    }
  }));
  await service.worker.idle();
  await service.stop();
  await store.close();
}

/** Fills a file unless it is already filled; a filled file must have exactly `count` runs. */
export async function fillOnce(file: string, count: number): Promise<void> {
  const isThere = await Deno.stat(file).then(() => true, () => false);
  const filledWith = await Deno.readTextFile(`${file}.runs`).catch(() => null);
  if (!isThere) {
    await fillLedger(file, count);
    await Deno.writeTextFile(`${file}.runs`, String(count));
  } else if (filledWith !== String(count)) {
    throw new Error(`${file} has another number of runs, or is not filled completely: remove it`);
  }
}

/** Returns a new id as clients make them. */
export function newId(kind: "run" | "evt", ms: number): string {
  return `${kind}_eu_${uuid7Hex(ms, ENVIRONMENT.random(10))}`;
}

/** Selects one in `every` runs, deterministically and independently of other salts. */
function isOneIn(n: number, every: number, salt: number): boolean {
  return Math.imul(n + 1, 2_654_435_761) * salt >>> 0 < 2 ** 32 / every;
}

async function storeRun(runs: RunStore, team: Team, n: number, at: number): Promise<void> {
  const id = newId("run", at) as RunId;
  const opening = {
    id,
    agent: isOneIn(n, 10_000, 19) ? "rare" : isOneIn(n, 2, 23) ? "busy" : `agent-${n % 18}`,
    startedAt: at,
    customerId: `customer-${n % 1_000}`,
    feature: isOneIn(n, 10_000, 29) ? "new" : `feature-${n % 7}`,
  };
  const isHeartbeat = isOneIn(n, 4, 17);
  const isOrphan = isOneIn(n, 10_000, 13);
  if (isHeartbeat) await runs.heartbeat(team, { ...opening, status: "start", reported: {} }, at);
  else if (!isOrphan) await runs.open(team, opening, at);
  const isLate = isOneIn(n, 1_000, 41);
  if (!isLate) await runs.append(team, id, [modelCall(n, at)], at + 1_000);
  const [status, finishedAt] = [statusOf(n), at + 5_000];
  if (status !== null) await runs.finish(team, id, { status, finishedAt }, finishedAt);
  if (isLate) await runs.append(team, id, [modelCall(n, at)], at + 9_000);
}

function statusOf(n: number): FinishStatus | null {
  if (isOneIn(n, 20, 3)) return "failed";
  if (isOneIn(n, 100, 5)) return "timeout";
  if (isOneIn(n, 100, 7)) return "cancelled";
  return isOneIn(n, 1_000, 11) ? null : "success";
}

/** Builds a call of 100 to 10,000,000 tokens. */
function modelCall(n: number, ts: number): RunEvent {
  const isUnpriced = isOneIn(n, 1_000, 31);
  const data = JSON.stringify({
    provider: "openai",
    model: isUnpriced ? "in-house" : isOneIn(n, 10_000, 37) ? "o1" : MODELS[n % MODELS.length],
    input_tokens: Math.round(10 ** (2 + n * 7 % 5_000 / 1_000)),
    output_tokens: 340,
  }) as RawJson;
  const id = newId("evt", ts) as EventId;
  return { id, type: "llm_call", ts, data, facts: storedFacts("llm_call", data) };
}
