/** Attacks on spend queries: the most rows, the longest ranges, the most models without a price. */
import { EMPTY_MEASURES } from "../../../../domain/runs/summary.ts";
import type { TeamId } from "../../../../domain/core/ids.ts";
import { RATE_ROWS_MAX } from "../../../../domain/core/limits.ts";
import { type RollupRow } from "../../../../domain/spend/rollup.ts";
import { GROUPINGS, SPEND_DAYS_MAX } from "../../../../domain/spend/spend_query.ts";
import { dayOf } from "../../../../domain/core/time.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { encodeRollup, rollupKey } from "../../../../kv/spend/rollups.ts";
import type { Store } from "../../../../kv/store.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, must, RATE } from "../attacker.ts";
import { newId } from "../values.ts";
import { storeRuns } from "./lists.ts";
import { signedIn } from "./pages.ts";

/**
 * Rows of the prefilled ledger. A team writes 33,000 of them in minutes, with 20 models per run.
 */
const FILLED = { days: 10, customersADay: 33_000, rowsPerCommit: 500 } as const;

const DAY_MS = 86_400_000;

/** Queries in parallel; more would only wait. */
const READERS = 24;

/** Writes the spend of a team with very many customers. */
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
export async function storeRows(
  store: Store,
  team: TeamId,
  rows: readonly RollupRow[],
): Promise<void> {
  const days = new Set(rows.map(({ day }) => day));
  const sets: { key: Deno.KvKey; value: unknown }[] = [
    ...[...days].map((day) => ({ key: keys.rollupDay(team, day), value: true })),
    ...rows.map((row) => ({ key: rollupKey(team, row), value: encodeRollup(row) })),
  ];
  for (let at = 0; at < sets.length; at += FILLED.rowsPerCommit) {
    await store.writer.commit({ team, sets: sets.slice(at, at + FILLED.rowsPerCommit) });
  }
}

/** Returns the UTC day that is `days` before today. */
export function daysAgo(days: number): string {
  return dayOf(Date.now() - days * DAY_MS);
}

/** Returns queries of every length, so that one of them is near any read limit. */
function byCustomer(n: number): string {
  return `/v1/spend?group_by=customer&from=${daysAgo(n % FILLED.days)}&to=${daysAgo(0)}`;
}

/** Stores a thousand models without a price and a thousand own rows with similar names. */
async function storeUnpriced(attacker: Attacker): Promise<void> {
  const use = { input_tokens: 1_000, output_tokens: 100 };
  await attacker.times(1_000, async (n) => {
    const model = `acme-large-preview-x${n}`;
    must(await attacker.post("/v1/heartbeats", { agent: "a", provider: "acme", model, ...use }));
  });
  await attacker.times(RATE_ROWS_MAX, async (n) => {
    const rates = { input_usd_per_million: n + 1, output_usd_per_million: 2 };
    const body = JSON.stringify({ provider: "other", model: `acme-large-${n}`, ...rates });
    must(await attacker.send("PUT", "/v1/rate-card", { body }));
  });
}

function ask(attacker: Attacker, pathOf: (n: number) => string, readers = READERS) {
  return attacker.pace(RATE.control, (n) => attacker.get(pathOf(n)), readers);
}

/** Attacks on spend queries. */
export const spend: readonly Attack[] = [
  attack({
    name: "spend by customer",
    finding: "H5",
    does: "spend of 1 to 10 days with 33,000 customers each, 24 queries in parallel",
    fill: fillCustomers,
    run: (attacker) => ask(attacker, byCustomer),
  }),
  attack({
    name: "abandoned spend",
    finding: "H5",
    does: "the same on connections that close immediately",
    fill: fillCustomers,
    run: (attacker) =>
      attacker.pace(RATE.control, (n) => attacker.leave(attacker.head("GET", byCustomer(n)))),
  }),
  attack({
    name: "spend by everything",
    finding: null,
    does: "the longest range with each grouping and every filter, on long labels",
    setUp: (attacker) => storeRuns(attacker, 4_000),
    run(attacker) {
      const from = daysAgo(SPEND_DAYS_MAX - 1);
      const filters = "&agent=agent-0&feature=(unattributed)&status=success";
      const paths = GROUPINGS.flatMap((group) => {
        const path = `/v1/spend?group_by=${group}&from=${from}&to=${daysAgo(0)}`;
        return [path, path + filters];
      });
      return ask(attacker, (n) => paths[n % paths.length] ?? "");
    },
  }),
  attack({
    name: "spend while it changes",
    finding: null,
    does:
      "the same queries while runs of each of the last 20 days change, so that nothing stays cached",
    setUp: (attacker) => storeRuns(attacker, 4_000),
    async run(attacker) {
      const path = `/v1/spend?group_by=model&from=${daysAgo(SPEND_DAYS_MAX - 1)}&to=${daysAgo(0)}`;
      const change = (n: number) =>
        attacker.post("/v1/heartbeats", {
          id: newId("run"),
          agent: "agent-0",
          started_at: `${daysAgo(n % 20)}T00:00:00Z`,
          finished_at: `${daysAgo(n % 20)}T00:00:01Z`,
          model: `model-${n}`,
          input_tokens: 1_000,
        });
      await Promise.all([ask(attacker, () => path), attacker.pace(RATE.ingest, change)]);
    },
  }),
  attack({
    name: "models without a price",
    finding: "H6",
    does: "1,000 models without a price and 1,000 own rows with similar names",
    setUp: storeUnpriced,
    run: (attacker) => ask(attacker, () => "/v1/spend/unpriced"),
  }),
  attack<{ cookie: string }>({
    name: "the page of spend",
    finding: "H6",
    does: "the same through the dashboard's spend page",
    async setUp(attacker) {
      await storeUnpriced(attacker);
      return { cookie: await signedIn(attacker) };
    },
    run: (attacker, { cookie }) =>
      attacker.pace(RATE.control, () => {
        const options = { key: null, headers: { Cookie: cookie } };
        return attacker.send("GET", "/dashboard/spend", options);
      }, READERS),
  }),
];
