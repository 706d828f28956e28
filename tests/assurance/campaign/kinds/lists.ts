/**
 * Attacks on lists of runs, agents, keys and rates: the largest pages, longest ranges and most
 * filters.
 */
import { ADMIN_PER_PAGE, RATE_ROWS_MAX, RATES_PER_PAGE } from "../../../../domain/core/limits.ts";
import { RUNS_PER_PAGE } from "../../../../domain/runs/list_query.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, must, RATE } from "../attacker.ts";
import { label } from "../values.ts";

/** Runs that a list has to read. */
const RUNS = 12_000;

/** Readers that wait for a response in parallel. */
const READERS = 64;

const LARGEST = `/v1/runs?limit=${RUNS_PER_PAGE.max}`;

/** The longest range that a query accepts. */
const EVER = "from=1970-01-01&to=9999-12-31";

/** Stores finished runs with long labels, of few agents, customers and models. */
export async function storeRuns(attacker: Attacker, count: number = RUNS): Promise<void> {
  await attacker.times(count, async (n) => {
    must(
      await attacker.post("/v1/heartbeats", {
        agent: `agent-${n % 10}`,
        customer_id: label(`c${n % 50}`),
        feature: label(`f${n % 10}`),
        provider: label(`p${n % 5}`),
        model: label(`m${n % 5}`),
        input_tokens: 1_000,
        output_tokens: 100,
        status: n % 3 === 0 ? "fail" : "ok",
      }),
    );
  });
}

/** Returns a query with every parameter, each with the longest value that matches. */
function deepest(): string {
  const parameters = new URLSearchParams({
    agent: "agent-0",
    customer_id: label("c0"),
    feature: label("f0"),
    provider: label("p0"),
    model: label("m0"),
    status: "success",
    kind: "heartbeat",
    has: "unpriced",
    min_cost_usd: "999999999999",
    q: "ffffffffffffffffffffffffffffffff",
    from: "1970-01-01",
    to: "9999-12-31",
    limit: String(RUNS_PER_PAGE.max),
  });
  return `/v1/runs?${parameters}`;
}

/** Reads paths in turn. */
function read(
  attacker: Attacker,
  paths: readonly string[],
  headers: Record<string, string> = {},
  readers = READERS,
): Promise<void> {
  return attacker.pace(
    RATE.control,
    (n) => attacker.get(paths[n % paths.length] ?? "", headers),
    readers,
  );
}

/** Defines an attack that reads paths of a team with many runs. */
function reading(name: string, does: string, paths: readonly string[], finding?: string): Attack {
  return attack({
    name,
    finding: finding ?? null,
    does,
    setUp: (attacker) => storeRuns(attacker),
    run: (attacker) => read(attacker, paths),
  });
}

export const lists: readonly Attack[] = [
  reading("largest lists", "pages of 1,000 of 12,000 runs", [LARGEST], "H8"),
  attack({
    name: "largest lists, compressed",
    finding: null,
    does: "the same for clients that accept gzip",
    setUp: (attacker) => storeRuns(attacker),
    run: (attacker) => read(attacker, [LARGEST], { "Accept-Encoding": "gzip" }),
  }),
  attack({
    name: "lists in bursts",
    finding: null,
    does: "400 pages of 1,000 runs in parallel, every 2 s: the complete token bucket",
    setUp: (attacker) => storeRuns(attacker),
    run: (attacker) =>
      attacker.pace(0.5, async () => {
        await Promise.all(Array.from({ length: 400 }, () => attacker.get(LARGEST)));
      }),
  }),
  reading("deepest filters", "all parameters of a list together, each of them long", [deepest()]),
  reading("ids that nothing matches", "a part of an id that no run has, over all time", [
    `${LARGEST}&q=zzzz&${EVER}`,
    `${LARGEST}&q=_____&${EVER}`,
  ]),
  reading("oldest ranges", "lists without an index and without a match from 1970 to 9999", [
    `${LARGEST}&customer_id=(unattributed)&${EVER}`,
    `${LARGEST}&min_cost_usd=999999999999&${EVER}`,
    `${LARGEST}&has=orphan&${EVER}`,
    `/v1/spend?from=1970-01-01&to=9999-12-31`,
    `/v1/audit?from=1970-01-01T00:00:00Z&to=9999-12-31T00:00:00Z&limit=${ADMIN_PER_PAGE.max}`,
  ]),
  attack({
    name: "unread lists",
    finding: null,
    does: "pages of 1,000 runs to 200 connections that read nothing",
    setUp: (attacker) => storeRuns(attacker),
    async run(attacker) {
      const head = attacker.head("GET", LARGEST);
      await attacker.hold(200, async (socket) => {
        await socket.send(head);
        await new Promise((resolve) => attacker.signal.addEventListener("abort", resolve));
      });
    },
  }),
  attack({
    name: "lists that are read slowly",
    finding: null,
    does: "pages of 1,000 runs to 200 connections that read 4 kB a second",
    setUp: (attacker) => storeRuns(attacker),
    async run(attacker) {
      const head = attacker.head("GET", LARGEST);
      await attacker.hold(200, async (socket) => {
        await socket.send(head);
        await socket.sip(4_096, 1_000);
      });
    },
  }),
  attack({
    name: "abandoned lists",
    finding: null,
    does: "requests for pages of 1,000 runs on connections that close immediately",
    setUp: (attacker) => storeRuns(attacker),
    async run(attacker) {
      const head = attacker.head("GET", LARGEST);
      await attacker.pace(RATE.control, () => attacker.leave(head));
    },
  }),
  attack({
    name: "agents with everything",
    finding: null,
    does: "the list of agents, metrics and usage, at the rate limit of the plan",
    setUp: (attacker) => storeRuns(attacker, 2_000),
    run: (attacker) => read(attacker, ["/v1/agents?limit=1000", "/metrics", "/v1/usage"]),
  }),
  attack({
    name: "largest rate card",
    finding: null,
    does: "1,000 own rows with 10 tiers and the longest names, all default rows, and matches",
    setUp: (attacker) => storeRates(attacker),
    run: (attacker) =>
      read(attacker, [
        `/v1/rate-card?limit=${RATES_PER_PAGE.max}`,
        `/v1/rate-card/match?model=${encodeURIComponent(label("none"))}`,
      ]),
  }),
  attack({
    name: "largest audit log",
    finding: null,
    does: "pages of 500 entries, each with the largest row of a rate card before and after",
    async setUp(attacker) {
      await storeRates(attacker);
      await storeRates(attacker, 3);
    },
    run: (attacker) => read(attacker, [`/v1/audit?limit=${ADMIN_PER_PAGE.max}`]),
  }),
];

/** Fills a rate card with its largest rows. */
export async function storeRates(attacker: Attacker, input = 1): Promise<void> {
  await attacker.times(RATE_ROWS_MAX, async (n) => {
    must(await attacker.send("PUT", "/v1/rate-card", { body: largestRate(n, input) }));
  });
}

/** Returns a row with the longest names and all tiers. */
export function largestRate(n: number, input: number): string {
  const rates = {
    input_usd_per_million: input,
    output_usd_per_million: 2,
    cached_input_usd_per_million: 3,
    cache_write_usd_per_million: 4,
  };
  const tiers = Array.from({ length: 10 }, (_, k) => ({
    above_input_tokens: 1_000 * (k + 1),
    ...rates,
  }));
  const name = { provider: label(`p${n}`), model: label(`m${n}`) };
  return JSON.stringify({ ...name, ...rates, tiers, note: label("n") });
}
