/** `GET /v1/agents`, and one agent: `GET` and `PATCH /v1/agents/{slug}`. */
import type { Problem } from "../../../domain/core/errors.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { isName } from "../../../domain/core/rules.ts";
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import {
  type AgentPosition,
  type AgentRecord,
  type AgentSort,
  parseAgentsQuery,
} from "../../../domain/agents/agents.ts";
import { parseAgentPatch } from "../../../domain/agents/change.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, answerTagged, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { lastPartOf, queryOf } from "../../http/query.ts";

export function handleListAgents({ agents }: AppDeps): Handle {
  return async (c) => {
    const query = parseAgentsQuery(queryOf(c), parseAgentCursor);
    if (!query.ok) return fail(c, query.problem);
    const page = await agents.list(c.get("principal").team, query.value);
    if (!page.ok) return fail(c, page.problem);
    const { next } = page.value;
    const cursor = next === null ? null : agentCursor(next, query.value.sort);
    return answer(c, 200, rawOf({ agents: page.value.agents.map(agentFields), cursor }));
  };
}

export function getAgent({ agents }: AppDeps): Handle {
  return async (c) => {
    const slug = lastPartOf(c);
    // Any other text names no agent, and may be longer than the store takes.
    const record = isName(slug, AGENT_CHARS_MAX)
      ? await agents.read(c.get("principal").team, slug)
      : null;
    if (record === null) return fail(c, NO_SUCH_AGENT);
    return answerTagged(c, rawOf(agentFields(record)));
  };
}

export function patchAgent({ agents, environment }: AppDeps): Handle {
  return async (c) => {
    const patch = parseAgentPatch(c.get("body"));
    if (!patch.ok) return fail(c, patch.problem);
    const slug = lastPartOf(c);
    const { team, credentialId } = c.get("principal");
    const made = { by: credentialId, at: environment.now() };
    const changed = isName(slug, AGENT_CHARS_MAX)
      ? await agents.change(team, slug, patch.value, made)
      : null;
    if (changed === null) return fail(c, NO_SUCH_AGENT);
    if (!changed.ok) return fail(c, changed.problem);
    return answer(c, 200, rawOf(agentFields(changed.value)));
  };
}

/** The same bytes for a slug that never was and one of another team (decision 32). */
export const NO_SUCH_AGENT: Problem = {
  code: "not_found",
  message: "No such agent: list them to see slugs",
};

function agentFields({ agent, firstSeen, activity, name, notes, archived }: AgentRecord) {
  const last = activity?.lastRun ?? null;
  return {
    agent,
    name: name ?? agent,
    first_seen: formatInstant(firstSeen),
    last_seen: activity === null ? null : formatInstant(activity.lastSeen),
    runs: activity?.runs ?? 0,
    succeeded: activity?.succeeded ?? 0,
    failed: activity?.failed ?? 0,
    running: activity?.running ?? 0,
    last_run_id: last?.id ?? null,
    last_status: last?.status ?? null,
    last_started_at: last === null ? null : formatInstant(last.startedAt),
    notes,
    archived,
  };
}

/** A place in an order: when the agent was seen, nothing where that says nothing, and its slug. */
export function agentCursor({ agent, lastSeen }: AgentPosition, sort: AgentSort): string {
  return encodeCursor(`${sort} ${sort === "agent" ? "" : lastSeen ?? ""} ${agent}`);
}

/** Reads what {@link agentCursor} wrote for the same order, or answers null. */
export function parseAgentCursor(cursor: string, sort: AgentSort): AgentPosition | null {
  const match = /^(last_seen|agent) (\d{0,16}) (.+)$/su.exec(decodeCursor(cursor) ?? "");
  const [, order, lastSeen = "", agent] = match ?? [];
  if (order !== sort || !isName(agent, AGENT_CHARS_MAX)) return null;
  return { agent, lastSeen: lastSeen === "" ? null : Number(lastSeen) };
}
