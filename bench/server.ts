/**
 * Runs the service under load, as a separate process, over one of these stores:
 *
 * - `ours`: the ledger on disk as in production;
 * - `counted`: `ours`, which counts mutations;
 * - `workless`: `ours` without the worker;
 * - `nothing`: stores nothing, which shows the cost of everything else.
 *
 * Usage: server.ts KIND FILE; prints its address to stderr.
 */
import { runStoreOf } from "../tests/support/harness/stores.ts";
import { Memory } from "../runtime/memory.ts";
import { decideFinish, decideHeartbeat, decideOpen } from "../domain/runs/decide.ts";
import { decideAppend, EMPTY_LEDGER } from "../domain/runs/ledger.ts";
import type { RunStore } from "../domain/runs/store.ts";
import { createRateCard } from "../domain/pricing/rate_card.ts";
import { openStore } from "../kv/open.ts";
import { LineLog } from "../app/request_log.ts";
import { serve } from "../app/server.ts";
import { counter } from "../runtime/metric_text.ts";
import {
  createBenchService,
  createTeam,
  hasWorker,
  MUTATIONS_METRIC,
  OPERATOR_KEY,
  type SideKind,
} from "./service.ts";

/** Calls are priced even if nothing is stored: only storing is omitted. */
const CARD = createRateCard([]);

const NO_PARTS = { opening: null, closing: null };
const NO_IDS = { isEmpty: true, has: () => false };
const keepNothing: RunStore = {
  open: (_, request, at) => Promise.resolve(decideOpen(NO_PARTS, request, at).outcome),
  finish: (_, __, request, at) => Promise.resolve(decideFinish(NO_PARTS, request, at).outcome),
  heartbeat: (_, request, at) =>
    Promise.resolve(decideHeartbeat(NO_PARTS, request, at, CARD).outcome),
  ping: (_, request, __, at) => {
    const { outcome } = decideHeartbeat(NO_PARTS, request, at, CARD);
    return Promise.resolve({ id: request.id, outcome });
  },
  append(_, __, events, at) {
    const { fresh, duplicates } = decideAppend(EMPTY_LEDGER, NO_IDS, events, at, CARD);
    return Promise.resolve({ kind: "stored", accepted: fresh.length, duplicates });
  },
  read: () => Promise.resolve(null),
};

/**
 * Counts mutations of successful commits from now on. It replaces methods of the runtime, so that
 * the service has no code for it.
 */
function countMutations(): () => number {
  let total = 0;
  const pending = new WeakMap<Deno.AtomicOperation, number>();
  const { prototype } = Deno.AtomicOperation;
  const { commit } = prototype;
  const count = <Args extends unknown[]>(
    method: (this: Deno.AtomicOperation, ...args: Args) => Deno.AtomicOperation,
  ) =>
    function (this: Deno.AtomicOperation, ...args: Args) {
      pending.set(this, (pending.get(this) ?? 0) + 1);
      return method.apply(this, args);
    };
  prototype.set = count(prototype.set);
  prototype.delete = count(prototype.delete);
  prototype.sum = count(prototype.sum);
  prototype.commit = async function () {
    const result = await commit.call(this);
    if (result.ok) total += pending.get(this) ?? 0;
    return result;
  };
  return () => total;
}

const [name = "ours", file = ":memory:"] = Deno.args;
const kind = name as SideKind;
const mutations = kind === "counted" ? countMutations() : null;
const store = await openStore(file, new Memory());
await createTeam(store);
const runs = kind === "nothing" ? keepNothing : runStoreOf(store);
const service = createBenchService(store, {
  log: new LineLog(Deno.stdout, store.memory.bytesMax("log")).write,
  parts: hasWorker(kind) ? {} : { runs },
  ...(mutations === null ? {} : {
    operatorKey: OPERATOR_KEY,
    processFamilies: () => [counter(MUTATIONS_METRIC, "Sets, deletes and sums.", mutations())],
  }),
});
if (hasWorker(kind)) service.start();
const server = serve(service.app.fetch, "127.0.0.1", 0);
Deno.stderr.writeSync(new TextEncoder().encode(`${server.url}\n`));
