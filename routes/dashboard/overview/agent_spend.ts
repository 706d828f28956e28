/** Spend by agent, of today and of the days before, from a bounded number of rows. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { RollupRow, SpendStore } from "../../../domain/spend/rollup.ts";
import { labelOf } from "../../../domain/spend/spend_query.ts";
import { DAYS_BEFORE, type Span } from "./day_metrics.ts";

/**
 * Rows that are added up of today and of the days before: 500 take 3 ms. Finding out that there are more
 * takes one besides, which comes with the same batch.
 */
const ROWS_MAX = 499;
const ROWS_BEFORE_MAX = 1_499;

/** Agents that are named, those that spent most today. */
const AGENTS_NAMED = 8;

/** The spend of an agent. */
export interface AgentSpend {
  /** Null for runs without one. */
  readonly agent: string | null;
  readonly runsToday: number;
  readonly costToday: Picodollars;
  /** In the days before; null where that takes too many rows. */
  readonly costBefore: Picodollars | null;
}

/** The agents that spent most. */
export interface SpendByAgent {
  readonly agents: readonly AgentSpend[];
  /** How many more there are. */
  readonly leftOut: number;
}

/** Reads the spend by agent; null where a day has so many agents that this page must not add them up. */
export async function readSpendByAgent(
  spend: SpendStore,
  team: Team,
  span: Span,
): Promise<SpendByAgent | null> {
  const { today, from, yesterday } = span;
  const ofToday = await readAtMost(spend.rows(team, "agent", today, today), ROWS_MAX);
  if (ofToday === null) return null;
  // As many agents each day as today would be too many rows: they need not be begun with.
  const isLittle = ofToday.length * DAYS_BEFORE <= ROWS_BEFORE_MAX;
  const before = isLittle
    ? await readAtMost(spend.rows(team, "agent", from, yesterday), ROWS_BEFORE_MAX)
    : null;
  return rankedOf(ofToday, before);
}

/** The rows of a range; null when there are more than so many. */
async function readAtMost(
  all: AsyncIterable<readonly RollupRow[]>,
  max: number,
): Promise<RollupRow[] | null> {
  const read: RollupRow[] = [];
  for await (const rows of all) {
    read.push(...rows);
    if (read.length > max) return null;
  }
  return read;
}

function rankedOf(today: readonly RollupRow[], before: readonly RollupRow[] | null): SpendByAgent {
  const byAgent = new Map<string | null, AgentSpend>();
  const nothing = { runsToday: 0, costToday: 0n, costBefore: before === null ? null : 0n };
  for (const { group, measures } of today) {
    const agent = labelOf(group, "agent");
    const { runs, cost } = measures;
    byAgent.set(agent, { ...nothing, agent, runsToday: runs, costToday: cost });
  }
  for (const { group, measures } of before ?? []) {
    const agent = labelOf(group, "agent");
    const each = byAgent.get(agent) ?? { ...nothing, agent };
    byAgent.set(agent, { ...each, costBefore: (each.costBefore ?? 0n) + measures.cost });
  }
  const ranked = [...byAgent.values()].sort(byCost);
  return {
    agents: ranked.slice(0, AGENTS_NAMED),
    leftOut: Math.max(0, ranked.length - AGENTS_NAMED),
  };
}

function byCost(a: AgentSpend, b: AgentSpend): number {
  const by = (x: bigint, y: bigint) => x > y ? -1 : x < y ? 1 : 0;
  return by(a.costToday, b.costToday) || by(a.costBefore ?? 0n, b.costBefore ?? 0n) ||
    b.runsToday - a.runsToday;
}
