/** The last days of agents, for pages about them. */
import type { Team } from "../../../domain/teams/team.ts";
import type { SpendStore } from "../../../domain/spend/store.ts";
import { AGENT_DAYS, type AgentDays, daysOfAgents } from "../../../domain/spend/agent_days.ts";
import { daysOf } from "../../../domain/spend/spend_query.ts";
import { dayOf } from "../../../domain/core/time.ts";

const DAY_MS = 86_400_000;

/** Reads the days of some agents, by slug: one row a day and agent, however many the team has. */
export async function readDays(
  spend: SpendStore,
  team: Team,
  agents: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, AgentDays>> {
  const from = dayOf(nowMs - (AGENT_DAYS - 1) * DAY_MS);
  const days = daysOf({ from, to: dayOf(nowMs) });
  const groups = agents.map((value) => ({ kind: "agent" as const, value }));
  return daysOfAgents(await spend.some(team, groups, days), agents, days);
}
