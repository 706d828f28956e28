/**
 * Fills a ledger with a month of runs of one team for lists: many of most kinds, few of some. It
 * writes the parts, summaries and index rows that calls and the worker write, without rows that
 * lists do not read.
 */
import { Memory } from "../domain/core/memory.ts";
import { type RunId, type TeamId, uuid7Hex } from "../domain/core/ids.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import { summarize } from "../domain/runs/summary.ts";
import { NO_EVENTS } from "../domain/runs/event_totals.ts";
import { EMPTY_LEDGER, type EventLedger } from "../domain/runs/ledger.ts";
import type { Closing, FinishStatus, Opening } from "../domain/runs/run.ts";
import { keys } from "../kv/base/keys.ts";
import { indexChange } from "../kv/run_list/run_index.ts";
import { encodePart } from "../kv/base/codec.ts";
import { encodeSums } from "../kv/base/codec_sums.ts";
import { blobWrite, type Store } from "../kv/store.ts";
import { openStore } from "../kv/open.ts";
import { say } from "./report.ts";
import { createTeams, firstTeamOf } from "./service.ts";

/** Period over which the runs are spread, milliseconds. */
export const SPREAD_MS = 30 * 86_400_000;

const RUNS_PER_COMMIT = 40;
const IN_FLIGHT = 8;
const RUNS_PER_SAY = 100_000;
const ATTEMPTS_MAX = 20;

type Sets = { key: Deno.KvKey; value: unknown }[];

/** Fills a file with runs of the first team. */
export async function fillLedger(file: string, count: number): Promise<void> {
  const store = await openStore(file, new Memory());
  await createTeams(store, 1);
  await fillRuns(store, await firstTeamOf(store), count, Date.now());
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

/** Stores runs that started until now. */
export async function fillRuns(
  store: Store,
  team: TeamId,
  count: number,
  nowMs: number,
): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (next < count) {
      const from = next;
      next = Math.min(count, next + RUNS_PER_COMMIT);
      if (from % RUNS_PER_SAY === 0) say(`${from} of ${count} runs are stored …`);
      const sets: Sets = [];
      for (let n = from; n < next; n++) {
        sets.push(...rowsOf(team, n, nowMs - SPREAD_MS + Math.floor(n * SPREAD_MS / count)));
      }
      await commit(store, team, sets);
    }
  }));
}

/** Stores rows, with retries when the disk is too busy: writing the same rows is idempotent. */
async function commit(store: Store, team: TeamId, sets: Sets): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      await store.writer.commit({ team, sets });
      return;
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** Selects one in `every` runs, deterministically and independently of other salts. */
function isOneIn(n: number, every: number, salt: number): boolean {
  return Math.imul(n + 1, 2_654_435_761) * salt >>> 0 < 2 ** 32 / every;
}

function statusOf(n: number): FinishStatus | null {
  if (isOneIn(n, 20, 3)) return "failed";
  if (isOneIn(n, 100, 5)) return "timeout";
  if (isOneIn(n, 100, 7)) return "cancelled";
  return isOneIn(n, 1_000, 11) ? null : "success";
}

function rowsOf(team: TeamId, n: number, at: number): Sets {
  const id = `run_eu_${uuid7Hex(at, crypto.getRandomValues(new Uint8Array(10)))}` as RunId;
  const status = statusOf(n);
  const opening: Opening | null = isOneIn(n, 10_000, 13) ? null : {
    kind: isOneIn(n, 4, 17) ? "heartbeat" : "run",
    agent: isOneIn(n, 10_000, 19) ? "rare" : isOneIn(n, 2, 23) ? "busy" : `agent-${n % 18}`,
    startedAt: at,
    receivedAt: at,
    customerId: `customer-${n % 1_000}`,
    ...isOneIn(n, 10_000, 29) ? { feature: "new" } : { feature: `feature-${n % 7}` },
  };
  const closing: Closing | null = status === null && opening !== null ? null : {
    status: status ?? "success",
    finishedAt: at + 5_000,
    receivedAt: at + 5_000,
  };
  const ledger = ledgerOf(n, at);
  const parts = { opening, closing };
  const { totals, batches: batchCount } = ledger;
  const head = { parts, totals, batchCount, ages: ledger, repricings: 0, repriced: undefined };
  const summary = summarize(head, null);
  return [
    ...opening === null
      ? []
      : blobWrite(team, id, keys.opening(team, id), encodePart(opening)).sets,
    ...closing === null
      ? []
      : blobWrite(team, id, keys.closing(team, id), encodePart(closing)).sets,
    { key: keys.ledger(team, id), value: ledger },
    { key: keys.summary(team, id), value: encodeSums(summary) },
    ...indexChange(team, id, null, summary).sets,
  ];
}

/** Builds a ledger of ten events in one batch; one is a call that costs between $0.0001 and $10. */
function ledgerOf(n: number, at: number): EventLedger {
  const priced = !isOneIn(n, 1_000, 31);
  const cost = priced ? BigInt(Math.round(10 ** (8 + (n * 7 % 5_000) / 1_000))) : 0n;
  const model = isOneIn(n, 10_000, 37) ? "model-rare" : `model-${n % 5}`;
  const tokens = { inputTokens: 1_200n, outputTokens: 340n, cachedInputTokens: 0n };
  const usage = { provider: n % 2 === 0 ? "a" : "b", model, priced, calls: 1, ...tokens, cost };
  const latestAt = isOneIn(n, 1_000, 41) ? at + 9_000 : at + 1_000;
  return {
    ...EMPTY_LEDGER,
    batches: 1,
    totals: { ...NO_EVENTS, events: 10, llmCalls: 1, ...tokens, cost, models: [usage] },
    oldestAt: at + 1_000,
    latestAt,
  };
}
