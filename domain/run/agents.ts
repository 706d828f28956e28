/**
 * Agents: created by the first run that names them, up to the plan's cap (decision 39).
 *
 * @module
 */
import type { Problem } from "../errors.ts";
import { type Tier, TIERS } from "../tiers.ts";

/** Why a team may not have one more agent; null when it may. */
export function agentCapRefusal(tier: Tier, agents: number): Problem | null {
  const { agentsMax } = TIERS[tier];
  return agents < agentsMax ? null : {
    code: "agent_cap_reached",
    message: `Cannot create another agent: the ${tier} plan has ${agentsMax} and all are in use; ` +
      "use an existing agent or change the plan",
    field: "agent",
  };
}
