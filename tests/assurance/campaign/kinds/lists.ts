/** Attacks on lists, spend, the change feed, live streams and exports. */
import type { TeamId } from "../../../../domain/core/ids.ts";
import {
  ADMIN_PER_PAGE,
  CHANGES_PER_PAGE,
  OUTPUT_BYTES_MAX,
  RATE_ROWS_MAX,
  RATES_PER_PAGE,
} from "../../../../domain/core/limits.ts";
import { dayOf } from "../../../../domain/core/time.ts";
import { RUNS_PER_PAGE } from "../../../../domain/runs/list_query.ts";
import { EMPTY_MEASURES } from "../../../../domain/runs/summary.ts";
import type { RollupRow } from "../../../../domain/spend/rollup.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { encodeRollup, rollupKey } from "../../../../kv/spend/rollups.ts";
import type { Store } from "../../../../kv/store.ts";
import { type Attack, type Attacker, jsonOf, must, RATE, sendUntilAccepted } from "../attacker.ts";
import { gzip, instant, label } from "../values.ts";

/** Open streams and waiting calls that a team may have, and more exports than it may have at once. */
const SLOTS = 50, EXPORTS = 8;

const LARGEST = `/v1/runs?limit=${RUNS_PER_PAGE.max}`;
const CHANGES = `/v1/changes?limit=${CHANGES_PER_PAGE.max}`;

/** The longest range that a query accepts. */
const EVER = "from=1970-01-01&to=9999-12-31";

/** Days and customers of a ledger that is written without requests. */
const FILLED = { days: 10, customersADay: 33_000, rowsPerCommit: 500 } as const;

/** A query with every parameter, each with the longest value that matches. */
const DEEPEST = new URLSearchParams({
  agent: "agent-0",
  customer_id: label("c0"),
  feature: label("f0"),
  provider: label("p0"),
  model: label("m0"),
  status: "success",
  kind: "heartbeat",
  has: "unpriced",
  min_cost_usd: "999999999999",
  q: "f".repeat(32),
  from: "1970-01-01",
  to: "9999-12-31",
  limit: String(RUNS_PER_PAGE.max),
});

/** Stores finished runs with long labels, of few agents, customers and models. */
export async function storeRuns(attacker: Attacker, count = 12_000): Promise<string[]> {
  await attacker.times(count, async (n) => {
    const labels = {
      agent: `agent-${n % 10}`,
      customer_id: label(`c${n % 50}`),
      feature: label(`f${n % 10}`),
    };
    const use = { provider: label(`p${n % 5}`), model: label(`m${n % 5}`), input_tokens: 1_000 };
    const beat = { ...labels, ...use, output_tokens: 100, status: n % 3 === 0 ? "fail" : "ok" };
    must(await attacker.post("/v1/heartbeats", beat));
  });
  return [];
}

/** Stores 1,000 heartbeats with the largest output; returns the cursor after the first change. */
async function storeOutputs(attacker: Attacker): Promise<string[]> {
  const body = gzip({ agent: "a", output: { text: "o".repeat(OUTPUT_BYTES_MAX - 20) } });
  await attacker.times(1_000, async () => {
    // The service processes only a few large bodies at a time.
    await sendUntilAccepted(() => attacker.post("/v1/heartbeats", body));
  });
  return [jsonOf(await attacker.get("/v1/changes?limit=1")).next_cursor];
}

/** Fills a rate card with its largest rows. */
export async function storeRates(attacker: Attacker, input = 1): Promise<string[]> {
  await attacker.times(RATE_ROWS_MAX, async (n) => {
    must(await attacker.send("PUT", "/v1/rate-card", { body: largestRate(n, input) }));
  });
  return [];
}

/** Returns a row with the longest names and all tiers. */
export function largestRate(n: number, input: number): string {
  const rates = {
    input_usd_per_million: input,
    output_usd_per_million: 2,
    cached_input_usd_per_million: 3,
    cache_write_usd_per_million: 4,
  };
  const tier = (k: number) => ({ above_input_tokens: 1_000 * (k + 1), ...rates });
  const tiers = Array.from({ length: 10 }, (_, k) => tier(k));
  const name = { provider: label(`p${n}`), model: label(`m${n}`) };
  return JSON.stringify({ ...name, ...rates, tiers, note: label("n") });
}

/** Stores a thousand models without a price and a thousand own rows with similar names. */
async function storeUnpriced(attacker: Attacker): Promise<string[]> {
  await attacker.times(1_000, async (n) => {
    const use = { provider: "acme", model: `acme-large-preview-x${n}`, input_tokens: 1_000 };
    must(await attacker.post("/v1/heartbeats", { agent: "a", ...use }));
  });
  await attacker.times(RATE_ROWS_MAX, async (n) => {
    const rates = { input_usd_per_million: n + 1, output_usd_per_million: 2 };
    const body = JSON.stringify({ provider: "other", model: `acme-large-${n}`, ...rates });
    must(await attacker.send("PUT", "/v1/rate-card", { body }));
  });
  return [];
}

async function fillCustomers(store: Store, team: TeamId): Promise<void> {
  for (let day = 0; day < FILLED.days; day++) {
    const rows = Array.from({ length: FILLED.customersADay }, (_, n): RollupRow => ({
      day: daysAgo(day),
      group: { kind: "customer", value: `customer-${day}-${n}` },
      measures: { ...EMPTY_MEASURES, runs: 1, calls: 1, inputTokens: 1_000n, cost: 10_000_000n },
    }));
    await storeRows(store, team, rows);
  }
}

/** Writes rows as the worker does. */
async function storeRows(store: Store, team: TeamId, rows: readonly RollupRow[]) {
  const days = new Set(rows.map(({ day }) => day));
  const sets: { key: Deno.KvKey; value: unknown }[] = [
    ...[...days].map((day) => ({ key: keys.rollupDay(team, day), value: true })),
    ...rows.map((row) => ({ key: rollupKey(team, row), value: encodeRollup(row) })),
  ];
  for (let at = 0; at < sets.length; at += FILLED.rowsPerCommit) {
    await store.writer.commit({ team, sets: sets.slice(at, at + FILLED.rowsPerCommit) });
  }
}

function daysAgo(days: number): string {
  return dayOf(Date.now() - days * 86_400_000);
}

/** Changes runs all the time. */
function change(attacker: Attacker): Promise<void> {
  return attacker.pace(RATE.ingest, (n) => {
    const status = n % 2 === 0 ? "start" : "ok";
    return attacker.post("/v1/heartbeats", { agent: "agent-0", status, started_at: instant() });
  });
}

/** An attack that reads paths of a team with many runs. */
function reading(name: string, does: string, paths: readonly string[]): Attack {
  const setUp = (attacker: Attacker) => storeRuns(attacker);
  return { name, does, setUp, run: (attacker) => attacker.read(paths) };
}

export const LISTS: readonly Attack[] = [
  reading("largest lists", "pages of 1,000 of 12,000 runs", [LARGEST]),
  {
    name: "lists in bursts",
    does: "400 pages of 1,000 runs in parallel, every 2 s: the complete token bucket",
    setUp: (attacker) => storeRuns(attacker),
    run(attacker) {
      const read = () => attacker.get(LARGEST, { "Accept-Encoding": "gzip" });
      return attacker.pace(0.5, () => Promise.all(Array.from({ length: 400 }, read)));
    },
  },
  reading("deepest filters", "all parameters of a list together, each of them long", [
    `/v1/runs?${DEEPEST}`,
  ]),
  reading("oldest ranges", "lists without an index and without a match from 1970 to 9999", [
    `${LARGEST}&q=zzzz&${EVER}`,
    `${LARGEST}&customer_id=(unattributed)&${EVER}`,
    `${LARGEST}&min_cost_usd=999999999999&${EVER}`,
    `${LARGEST}&has=orphan&${EVER}`,
    `/v1/spend?${EVER}`,
    `/v1/audit?from=1970-01-01T00:00:00Z&to=9999-12-31T00:00:00Z&limit=${ADMIN_PER_PAGE.max}`,
  ]),
  {
    name: "largest rate card and audit log",
    does: "1,000 own rows with 10 tiers and the longest names, and the entries of their changes",
    async setUp(attacker) {
      await storeRates(attacker);
      return await storeRates(attacker, 3);
    },
    run: (attacker) =>
      attacker.read([
        `/v1/rate-card?limit=${RATES_PER_PAGE.max}`,
        `/v1/rate-card/match?model=${encodeURIComponent(label("none"))}`,
        `/v1/audit?limit=${ADMIN_PER_PAGE.max}`,
      ]),
  },
  {
    name: "changes",
    does: "pages of 1,000 changes of runs with outputs of 512 KiB, 20 in parallel",
    setUp: storeOutputs,
    run: (attacker) => attacker.read([CHANGES], {}, 20),
  },
  {
    name: "live streams from the beginning",
    does: "50 live streams that are 1,000 changes of such runs behind, reopened repeatedly",
    setUp: storeOutputs,
    run(attacker, [cursor = ""]) {
      const head = attacker.head("GET", `/v1/live?after=${encodeURIComponent(cursor)}`);
      return attacker.hold(SLOTS, async (socket) => {
        await socket.send(head);
        await attacker.answered(socket);
        // The backlog arrives immediately: read a little of it, then reopen the stream.
        await socket.take(262_144);
      });
    },
  },
  {
    name: "streams that are read slowly",
    does: "50 live streams that read 256 bytes a second, while runs change all the time",
    run: (attacker) =>
      Promise.all([
        change(attacker),
        attacker.sipped(SLOTS, attacker.head("GET", "/v1/live"), 256),
      ]),
  },
  {
    name: "exports that are read slowly",
    does: "exports of 12,000 runs on connections that read 4 kB a second",
    setUp: (attacker) => storeRuns(attacker),
    run: (attacker) => attacker.sipped(EXPORTS, attacker.head("GET", "/v1/runs.csv"), 4_096),
  },
  {
    name: "spend by customer",
    does: "spend of 1 to 10 days with 33,000 customers each, 24 queries in parallel",
    fill: fillCustomers,
    run(attacker) {
      // Queries of every length, so that one of them is near any read limit.
      const paths = Array.from(
        { length: FILLED.days },
        (_, days) => `/v1/spend?group_by=customer&from=${daysAgo(days)}&to=${daysAgo(0)}`,
      );
      return attacker.read(paths, {}, 24);
    },
  },
  {
    name: "models without a price",
    does: "1,000 models without a price and 1,000 own rows with similar names",
    setUp: storeUnpriced,
    run: (attacker) => attacker.read(["/v1/spend/unpriced"], {}, 24),
  },
];
