/** Spend by agent for today and the days before, from a bounded number of rows. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { RollupRow, SpendStore } from "../../../domain/spend/rollup.ts";
import { labelOf } from "../../../domain/spend/spend_query.ts";
import { DAYS_BEFORE, type Span } from "./day_metrics.ts";

/**
 * Maximum rows aggregated for today and for the days before: 500 take 3 ms. Detecting more takes
 * one extra row, which is in the same batch.
 */
const ROWS_MAX = 499;
const ROWS_BEFORE_MAX = 1_499;

/** Maximum agents listed: those with the highest spend today. */
const AGENTS_NAMED = 8;

/** Reads the agents with the highest spend; null if a day has too many agents to aggregate here. */
export async function readSpendByAgent(
  spend: SpendStore,
  team: Team,
  span: Span,
) {
  const { today, from, yesterday } = span;
  const ofToday = await readAtMost(spend.rows(team, "agent", today, today), ROWS_MAX);
  if (ofToday === null) return null;
  // If each earlier day has as many agents as today, the limit is exceeded: skip the read.
  const isLittle = ofToday.length * DAYS_BEFORE <= ROWS_BEFORE_MAX;
  const before = isLittle
    ? await readAtMost(spend.rows(team, "agent", from, yesterday), ROWS_BEFORE_MAX)
    : null;
  return rankedOf(ofToday, before);
}

/** Reads the rows of a range; null if there are more than `max`. */
async function readAtMost(all: AsyncIterable<readonly RollupRow[]>, max: number) {
  const rows = (await Array.fromAsync(takeRows(all, max + 1))).flat();
  return rows.length > max ? null : rows;
}

/** Yields the first rows, `max` at most. */
export async function* takeRows(all: AsyncIterable<readonly RollupRow[]>, max: number) {
  let remaining = max;
  for await (const rows of all) {
    yield rows.slice(0, remaining);
    remaining -= rows.length;
    if (remaining <= 0) return;
  }
}

/** Ranks agents by spend; the cost before is null if that takes too many rows. */
function rankedOf(today: readonly RollupRow[], before: readonly RollupRow[] | null) {
  const byAgent = new Map<string | null, AgentSpend>();
  const nothing = { runsToday: 0, costToday: 0n, costBefore: before === null ? null : 0n };
  for (const { group, measures } of today) {
    const agent = labelOf(group, "agent");
    const { runs, cost } = measures;
    byAgent.set(agent, { ...nothing, agent, runsToday: runs, costToday: cost });
  }
  for (const { group, measures } of before ?? []) {
    const agent = labelOf(group, "agent");
    const entry = byAgent.get(agent) ?? { ...nothing, agent };
    byAgent.set(agent, { ...entry, costBefore: (entry.costBefore ?? 0n) + measures.cost });
  }
  const ranked = [...byAgent.values()].sort(byCost);
  return {
    agents: ranked.slice(0, AGENTS_NAMED),
    /** Number of agents not listed. */
    leftOut: Math.max(0, ranked.length - AGENTS_NAMED),
  };
}

/** The spend of an agent; null for runs without an agent. */
export interface AgentSpend {
  readonly agent: string | null;
  readonly runsToday: number;
  readonly costToday: Picodollars;
  readonly costBefore: Picodollars | null;
}

function byCost(a: AgentSpend, b: AgentSpend): number {
  const by = (x: bigint, y: bigint) => x > y ? -1 : x < y ? 1 : 0;
  return by(a.costToday, b.costToday) || by(a.costBefore ?? 0n, b.costBefore ?? 0n) ||
    b.runsToday - a.runsToday;
}
