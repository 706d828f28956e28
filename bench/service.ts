/**
 * Sets up the service for benchmarks. The load generator can derive the keys of the teams: team
 * number `n` has the key `n` in hex.
 */
import { TIMERS } from "../kv/base/deadline.ts";
import { createService, type Service } from "../app/compose.ts";
import type { ServiceOptions } from "../app/service_options.ts";
import { createRequestLimits } from "../domain/teams/rate_limit.ts";
import { createCredentialStore, ensureFirstTeam, insertTeam } from "../kv/teams/credentials.ts";
import type { Team } from "../domain/teams/team.ts";
import type { Store } from "../kv/store.ts";

/** Kind of a server's store; see `server.ts`. */
export type SideKind = "ours" | "counted" | "workless" | "alone" | "nothing";

/** Returns whether a server of a kind has a worker. */
export function hasWorker(kind: SideKind): boolean {
  return kind === "ours" || kind === "counted";
}

const REGION = "eu";
const SPEC = { name: "bench", grant: { kind: "api_key", scopes: ["ingest", "read"] } } as const;

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

/**
 * Creates teams 1 to `count` without a request rate, and returns the first. If the file already has
 * teams, `count` must be 1.
 */
export async function createTeams(store: Store, count: number): Promise<Team> {
  let secret: Uint8Array | null = null;
  const environment = {
    ...ENVIRONMENT,
    // A secret is 16 random bytes: here they are the team's number.
    random: (bytes: number) => bytes === secret?.length ? secret : ENVIRONMENT.random(bytes),
  };
  const options = { region: REGION, refusedSecret: null } as const;
  const credentials = createCredentialStore(store, environment, options);
  const first = { region: REGION, key: keyOf(1), tier: "enterprise" } as const;
  const { team: firstTeam } = await ensureFirstTeam(store, environment, first);
  for (let n = 2; n <= count; n++) {
    const team = await insertTeam(store, "enterprise");
    secret = Uint8Array.fromHex(hexOf(n));
    const created = await credentials.create(team, SPEC, "bench");
    if (created.secret !== keyOf(n)) throw new Error(`Team ${n} got another key than is sent`);
  }
  return firstTeam;
}
