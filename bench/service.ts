/**
 * Sets up the service for benchmarks, with a key that the load generator knows. As a program, it runs
 * a service other than the complete one: KIND FILE; it prints its address to stderr.
 */
import { createService, type Service } from "../app/compose.ts";
import { LineLog } from "../app/request_log.ts";
import { serve } from "../app/server.ts";
import type { ServiceOptions } from "../app/service_options.ts";
import { ENVIRONMENT } from "../app/start.ts";
import type { Team } from "../domain/teams/team.ts";
import { TIMERS } from "../runtime/deadlines.ts";
import { openStore } from "../kv/open.ts";
import type { Store } from "../kv/store.ts";
import { ensureFirstTeam } from "../kv/teams/teams.ts";
import { Memory } from "../runtime/memory.ts";
import { counter } from "../runtime/metrics.ts";
import { createRequestLimits } from "../runtime/rate_limit.ts";

/** Kind of a server: `counted` is the complete service, which counts mutations. */
export type SideKind = "counted" | "workless";

const REGION = "eu";

/** Builds a service over a store, with the settings of all benchmarks. */
export function createBenchService(
  store: Store,
  options: Pick<ServiceOptions, "log" | "operatorKey" | "processFamilies">,
): Service {
  return createService({
    store,
    timers: TIMERS,
    environment: ENVIRONMENT,
    region: REGION,
    refusedSecret: null,
    limits: createRequestLimits(() => performance.now()),
    mailer: null,
    draining: () => false,
    ...options,
  });
}

/** Metric of the kind `counted`: mutations of its commits so far. */
export const MUTATIONS_METRIC = "bench_mutations_total";

/** The operator's key of services and of the kind `counted`. */
export const OPERATOR_KEY = `opk_${REGION}_${"1".padStart(32, "0")}`;

/** Headers of the operator's calls and of the team's. */
export const OPERATOR = { Authorization: `Bearer ${OPERATOR_KEY}` };
export const AUTHORIZATION = { Authorization: `Bearer ${keyOf(1)}` };

/** Returns the key of team number `n`. */
export function keyOf(n: number): string {
  return `apk_${REGION}_${n.toString(16).padStart(32, "0")}`;
}

/** Creates the team without a request rate whose key is sent, or returns it. */
export async function createTeam(store: Store): Promise<Team> {
  const first = { region: REGION, key: keyOf(1), tier: "enterprise" } as const;
  return (await ensureFirstTeam(store, ENVIRONMENT, first)).team;
}

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

if (import.meta.main) {
  const [kind, file = ":memory:"] = Deno.args as [SideKind, string?];
  const mutations = kind === "counted" ? countMutations() : () => 0;
  const store = await openStore(file, new Memory());
  await createTeam(store);
  const service = createBenchService(store, {
    log: new LineLog(Deno.stdout, store.memory.bytesMax("log")).write,
    operatorKey: OPERATOR_KEY,
    processFamilies: () => [counter(MUTATIONS_METRIC, "Sets, deletes and sums.", mutations())],
  });
  if (kind === "counted") service.start();
  const { url } = serve(service.app.fetch, "127.0.0.1", 0);
  Deno.stderr.writeSync(new TextEncoder().encode(`${url}\n`));
}
