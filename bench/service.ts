/** Sets up the service for benchmarks, with a key that the load generator knows. */
import { TIMERS } from "../kv/base/deadline.ts";
import { createService, type Service } from "../app/compose.ts";
import type { ServiceOptions } from "../app/service_options.ts";
import { createRequestLimits } from "../runtime/rate_limit.ts";
import { ensureFirstTeam } from "../kv/teams/credentials.ts";
import type { Team } from "../domain/teams/team.ts";
import type { Store } from "../kv/store.ts";

/** Kind of a server's store; see `server.ts`. */
export type SideKind = "counted" | "workless" | "nothing";

const REGION = "eu";

export const ENVIRONMENT = {
  now: () => Date.now(),
  random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
};

/** Builds a service over a store, with the settings of all benchmarks. */
export function createBenchService(
  store: Store,
  options: Pick<ServiceOptions, "log" | "parts" | "operatorKey" | "processFamilies">,
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
export const OPERATOR_KEY = `opk_${REGION}_${hexOf(1)}`;

/** Returns the key of team number `n`. */
export function keyOf(n: number): string {
  return `apk_${REGION}_${hexOf(n)}`;
}

function hexOf(n: number): string {
  return n.toString(16).padStart(32, "0");
}

/** Creates the team without a request rate whose key is sent, or returns it. */
export async function createTeam(store: Store): Promise<Team> {
  const first = { region: REGION, key: keyOf(1), tier: "enterprise" } as const;
  return (await ensureFirstTeam(store, ENVIRONMENT, first)).team;
}
