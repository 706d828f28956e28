/**
 * Runs a service other than the complete one under load, as a separate process:
 *
 * - `counted`: the complete service, which counts mutations;
 * - `workless`: without the worker;
 * - `nothing`: without the worker, and stores nothing, which shows the cost of everything else.
 *
 * Usage: server.ts KIND FILE; prints its address to stderr.
 */
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
  const pending = new WeakMap<object, number>();
  const { prototype } = Deno.AtomicOperation;
  const methods = prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of ["set", "delete", "sum"]) {
    const method = methods[name]!;
    methods[name] = function (this: object, ...args: unknown[]) {
      pending.set(this, (pending.get(this) ?? 0) + 1);
      return method.apply(this, args);
    };
  }
  const { commit } = prototype;
  prototype.commit = async function () {
    const result = await commit.call(this);
    if (result.ok) total += pending.get(this) ?? 0;
    return result;
  };
  return () => total;
}

const [kind, file = ":memory:"] = Deno.args as [SideKind, string?];
const mutations = kind === "counted" ? countMutations() : () => 0;
const store = await openStore(file, new Memory());
await createTeam(store);
const service = createBenchService(store, {
  log: new LineLog(Deno.stdout, store.memory.bytesMax("log")).write,
  parts: kind === "nothing" ? { runs: keepNothing } : {},
  operatorKey: OPERATOR_KEY,
  processFamilies: () => [counter(MUTATIONS_METRIC, "Sets, deletes and sums.", mutations())],
});
if (kind === "counted") service.start();
const server = serve(service.app.fetch, "127.0.0.1", 0);
Deno.stderr.writeSync(new TextEncoder().encode(`${server.url}\n`));
