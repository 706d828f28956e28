/** Reads agents and their last days, for pages about them. */
import { isName } from "../../../domain/core/rules.ts";
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import { dayOf } from "../../../domain/core/time.ts";
import type { AgentRecord } from "../../../domain/agents/agents.ts";
import { AGENT_DAYS, type AgentDays, daysOfAgents } from "../../../domain/spend/agent_days.ts";
import { daysOf } from "../../../domain/spend/spend_query.ts";
import type { SpendStore } from "../../../domain/spend/rollup.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { lastPartOf } from "../../http/query.ts";

const DAY_MS = 86_400_000;

/** Reads the agent of the path; null when the team has none of that slug. */
export async function readAgent(
  { agents }: AppDeps,
  c: RequestContext,
): Promise<AgentRecord | null> {
  const slug = lastPartOf(c);
  return isName(slug, AGENT_CHARS_MAX) ? await agents.read(c.get("principal").team, slug) : null;
}

/**
 * Reads the last days of the given agents, by slug: one row per day and agent, regardless of the
 * size of the team.
 */
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
