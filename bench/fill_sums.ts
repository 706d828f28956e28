/** Stores roll-ups for the runs of `fill_runs.ts`, which the pages about spend and agents read. */
import { EMPTY_MEASURES } from "../domain/runs/contribution.ts";
import type { TeamId } from "../domain/core/ids.ts";
import { type RollupGroup, type RollupRow } from "../domain/spend/rollup.ts";
import { dayOf } from "../domain/core/time.ts";
import { keys } from "../kv/base/keys.ts";
import { encodeRollup, rollupKey } from "../kv/spend/rollups.ts";
import type { Store } from "../kv/store.ts";
import { SPREAD_MS } from "./fill_runs.ts";

const DAY_MS = 86_400_000;
const ROWS_PER_COMMIT = 500;

/** Number of groups of each kind a day. */
const GROUPS = { agents: 20, customers: 1_000, features: 8, models: 6 } as const;

/** Names of the agents in the roll-ups. */
export const AGENTS = Array.from({ length: GROUPS.agents }, (_, n) => `agent-${n}`);

/** Stores the roll-ups of `runs` runs, spread evenly over days and groups. */
export async function fillSums(
  store: Store,
  team: TeamId,
  runs: number,
  nowMs: number,
): Promise<void> {
  const sets: { key: Deno.KvKey; value: unknown }[] = [];
  const days = SPREAD_MS / DAY_MS;
  for (let day = 0; day < days; day++) {
    const name = dayOf(nowMs - day * DAY_MS);
    sets.push({ key: keys.rollupDay(team, name), value: true });
    for (const row of rowsOf(name, Math.round(runs / days))) {
      sets.push({ key: rollupKey(team, row), value: encodeRollup(row) });
    }
  }
  for (let at = 0; at < sets.length; at += ROWS_PER_COMMIT) {
    await store.writer.commit({ team, sets: sets.slice(at, at + ROWS_PER_COMMIT) });
  }
}

function rowsOf(day: string, runs: number): RollupRow[] {
  const row = (group: RollupGroup, share: number): RollupRow => {
    const own = Math.max(1, Math.round(runs * share));
    const measures = {
      ...EMPTY_MEASURES,
      runs: own,
      succeeded: Math.round(own * 0.9),
      events: own * 10,
      calls: own,
      inputTokens: BigInt(own * 1_200),
      outputTokens: BigInt(own * 340),
      cost: BigInt(own) * 6_400_000_000n,
    };
    return { day, group, measures };
  };
  const many = (count: number, group: (n: number) => RollupGroup) =>
    Array.from({ length: count }, (_, n) => row(group(n), 1 / count));
  return [
    row({ kind: "total" }, 1),
    row({ kind: "status", value: "success" }, 0.9),
    row({ kind: "status", value: "failed" }, 0.1),
    ...many(GROUPS.agents, (n) => ({ kind: "agent", value: AGENTS[n] ?? null })),
    ...many(GROUPS.customers, (n) => ({ kind: "customer", value: `customer-${n}` })),
    ...many(GROUPS.features, (n) => ({ kind: "feature", value: `feature-${n}` })),
    ...many(GROUPS.models, (n) => ({
      kind: "model",
      value: { provider: "a", model: `model-${n}` },
    })),
  ];
}
