/** The agent that a path names. */
import { isName } from "../../../domain/core/rules.ts";
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import type { AgentRecord } from "../../../domain/agents/agents.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { lastPartOf } from "../../http/query.ts";

/** The agent of the path; null when the team has none of that slug. */
export async function agentNamed(
  { agents }: AppDeps,
  c: RequestContext,
): Promise<AgentRecord | null> {
  const slug = lastPartOf(c);
  return isName(slug, AGENT_CHARS_MAX) ? await agents.read(c.get("principal").team, slug) : null;
}
