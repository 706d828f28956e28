/**
 * Runs the service under load, as a separate process, over one of these stores:
 *
 * - `ours`: the ledger on disk as in production;
 * - `workless`: `ours` without the worker;
 * - `alone`: `workless` with one commit for each write;
 * - `nothing`: stores nothing, which shows the cost of everything else.
 *
 * Usage: server.ts KIND FILE [TEAMS]; prints its address to stderr.
 */
import { runStoreOf } from "../tests/support/harness/stores.ts";
import { Memory } from "../domain/core/memory.ts";
import { decideFinish, decideHeartbeat, decideOpen } from "../domain/runs/decide.ts";
import { decideAppend, EMPTY_LEDGER } from "../domain/runs/ledger.ts";
import type { RunStore } from "../domain/runs/store.ts";
import { createRateCard } from "../domain/pricing/rate_card.ts";
import type { BackEnd } from "../kv/base/limits.ts";
import { openStore } from "../kv/open.ts";
import { LineLog } from "../app/request_log.ts";
import { serve } from "../app/server.ts";
import { createBenchService, createTeams, type SideKind } from "./service.ts";

/** Limits that allow one write for each commit. */
const ALONE: BackEnd = { checks: 0, mutations: 0, bytes: 0, keyBytes: 0 };

/** Calls are priced even if nothing is stored: only storing is omitted. */
const CARD = createRateCard([]);

const NO_PARTS = { opening: null, closing: null };
const NO_IDS = { isEmpty: true, has: () => false };
const keepNothing: RunStore = {
  open: (_, request, at) => Promise.resolve(decideOpen(NO_PARTS, request, at).outcome),
  finish: (_, __, request, at) => Promise.resolve(decideFinish(NO_PARTS, request, at).outcome),
  heartbeat: (_, request, at) =>
    Promise.resolve(decideHeartbeat(NO_PARTS, request, at, CARD).outcome),
  append(_, __, events, at) {
    const { fresh, duplicates } = decideAppend(EMPTY_LEDGER, NO_IDS, events, at, CARD);
    return Promise.resolve({ kind: "stored", accepted: fresh.length, duplicates });
  },
  read: () => Promise.resolve(null),
};

const [name = "ours", file = ":memory:", teams = "1"] = Deno.args;
const kind = name as SideKind;
const store = await openStore(file, new Memory(), kind === "alone" ? ALONE : undefined);
await createTeams(store, Number(teams));
const hasWorker = kind === "ours";
const runs = kind === "nothing" ? keepNothing : runStoreOf(store);
const service = createBenchService(store, {
  log: new LineLog(Deno.stdout, store.memory.bytesMax("log")).write,
  parts: hasWorker ? {} : { runs },
});
if (hasWorker) service.start();
const server = serve(service.app.fetch, "127.0.0.1", 0);
Deno.stderr.writeSync(new TextEncoder().encode(`${server.url}\n`));
