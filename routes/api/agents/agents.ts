/** `GET /v1/agents`, and one agent: `GET` and `PATCH /v1/agents/{slug}`. */
import { teamKey } from "../../http/access.ts";
import { existing, notFound } from "../../../domain/core/errors.ts";
import { isName } from "../../../domain/core/rules.ts";
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import {
  AGENT_SORTS,
  agentPatchBody,
  type AgentPosition,
  type AgentRecord,
  AGENTS_PER_PAGE,
  type AgentSort,
  parseAgentPatch,
  parseAgentsQuery,
} from "../../../domain/agents/agents.ts";
import type { MonitorProposal } from "../../../domain/monitors/row.ts";
import { answerTagged } from "../../http/answer.ts";
import { madeBy } from "../../http/context.ts";
import { decodeCursor, encodeCursor, nameInPath, queryOf } from "../../http/query.ts";
import { z } from "zod";
import { endpoints, tagged } from "../../openapi/describe.ts";
import { cursorOf, ifNoneMatch, limitOf, runStatus, slug } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { returns } from "../answers.ts";
import {
  type MonitorRow,
  monitorRow,
  monitorValue,
  parseZone,
  proposalValue,
  zone,
} from "../monitors/monitor_json.ts";

/** The same error for an unknown slug and a slug of another team (decision 32). */
export const NO_SUCH_AGENT = notFound("No such agent: list the agents to see their slugs");

/** Encodes a position: the sort, when the agent was last seen if that is the sort, and its slug. */
export function agentCursor({ agent, lastSeen }: AgentPosition, sort: AgentSort): string {
  return encodeCursor(`${sort} ${sort === "agent" ? "" : lastSeen ?? ""} ${agent}`);
}

/** Decodes a cursor of {@link agentCursor} with the same sort; null when it is invalid. */
export function parseAgentCursor(cursor: string, sort: AgentSort): AgentPosition | null {
  const match = /^(last_seen|agent) (\d{0,16}) (.+)$/su.exec(decodeCursor(cursor) ?? "");
  const [, order, lastSeen = "", agent] = match ?? [];
  if (order !== sort || !isName(agent, AGENT_CHARS_MAX)) return null;
  return { agent, lastSeen: lastSeen === "" ? null : Number(lastSeen) };
}

const FIELDS: shape.WireFields<AgentRecord> = {
  agent: shape.text("agent", "The slug."),
  name: shape.text(({ name, agent }) => name ?? agent, "Display name; the slug by default."),
  first_seen: shape.instant("firstSeen", "Arrival of the call that created it."),
  last_seen: shape.instant.orNull(
    ({ activity }) => activity?.lastSeen,
    "Latest arrival of a run's opening or close.",
  ),
  runs: shape.count(
    ({ activity }) => activity?.runs ?? 0,
    "All runs of the agent, including expired ones.",
  ),
  succeeded: shape.count(({ activity }) => activity?.succeeded ?? 0),
  failed: shape.count(({ activity }) => activity?.failed ?? 0),
  running: shape.count(({ activity }) => activity?.running ?? 0),
  last_run_id: shape.id("run").orNull(
    ({ activity }) => activity?.lastRun?.id,
    "The run with the latest `started_at`.",
  ),
  last_status: shape.wire(runStatus).orNull(({ activity }) => activity?.lastRun?.status),
  last_started_at: shape.instant.orNull(({ activity }) => activity?.lastRun?.startedAt),
  notes: shape.text.orNull("notes"),
  archived: shape.boolean("archived"),
};

const agent = shape.object("Agent", FIELDS);

/** An agent with its monitor. */
interface AgentDetail extends AgentRecord {
  readonly monitor: MonitorRow | null;
  readonly proposal: MonitorProposal | null;
}

const agentDetail = shape.object<AgentDetail>("AgentDetail", {
  ...FIELDS,
  monitor: monitorValue.orNull("monitor", "Null without one."),
  proposal: proposalValue.orNull(
    "proposal",
    "Settings of a monitor that fit the latest runs; null if none do.",
  ),
});

const agentPage = shape.page("AgentPage", "agents", agent);

const pathFields = {
  slug: slug().describe("The agent's slug, percent-encoded: `a/b` is `a%2Fb`."),
};

export const AGENT_ENDPOINTS = endpoints("Agents", {
  listAgents: {
    route: "GET /v1/agents",
    access: teamKey("read"),
    ...returns("A page of agents.", agentPage, async (c, { agents }, { team }) => {
      const query = parseAgentsQuery(queryOf(c), parseAgentCursor);
      const { agents: items, next } = await agents.list(team, query);
      return { items, cursor: next && agentCursor(next, query.sort) };
    }),
    summary: "List agents",
    description: "Lists agents with their activity. A call's effect on its agent becomes visible " +
      "shortly after its response.",
    query: {
      sort: z.enum(AGENT_SORTS).meta({ id: "AgentSort" }).default(AGENT_SORTS[0])
        .describe(
          "`last_seen`: most recently seen first; `agent`: by slug. A very large number of agents " +
            "can only be listed by slug.",
        ),
      limit: limitOf(AGENTS_PER_PAGE, "agents"),
      cursor: cursorOf("cursor"),
      archived: z.boolean().default(false).describe("True to include archived agents."),
    },
  },
  getAgent: {
    route: "GET /v1/agents/:slug",
    access: teamKey("read"),
    handler: async (c, deps, { team }) => {
      const { agents, monitors } = deps;
      const tz = parseZone(queryOf(c));
      const slug = nameInPath(c);
      // Any other text is no slug, and may exceed the store's key length.
      const known = isName(slug, AGENT_CHARS_MAX) ? await agents.read(team, slug) : null;
      const record = existing(known, NO_SUCH_AGENT);
      const [monitor, proposal] = await Promise.all([
        monitors.read(team, record.agent),
        monitors.proposal(team, record.agent, tz),
      ]);
      const row = monitor && await monitorRow(deps, team, monitor);
      return answerTagged(c, agentDetail.write({ ...record, monitor: row, proposal }));
    },
    summary: "Read an agent",
    description: "Returns an agent, its monitor, and settings for one that fit its latest runs. " +
      "An unknown slug and another team's both return 404.",
    pathFields,
    query: { tz: zone },
    headers: ifNoneMatch,
    answers: tagged("The current state of the agent.", agentDetail),
    errors: ["not_found"],
  },
  changeAgent: {
    route: "PATCH /v1/agents/:slug",
    access: teamKey("admin"),
    ...returns("The updated agent.", agent, async (c, deps, { team }) => {
      const patch = parseAgentPatch(c.get("body"));
      const slug = nameInPath(c);
      const changed = isName(slug, AGENT_CHARS_MAX)
        ? await deps.agents.change(team, slug, patch, madeBy(c, deps))
        : null;
      return existing(changed, NO_SUCH_AGENT);
    }),
    summary: "Change an agent",
    description: "Fields that are not sent keep their values. The slug that clients send never " +
      "changes, so renaming loses no history. An archived agent does not count against the " +
      "plan's agent limit. It is restored when it opens a run, if the limit allows it.",
    pathFields,
    body: agentPatchBody.meta({ id: "AgentChange" }),
    errors: ["agent_cap_reached", "not_found"],
    idempotency: "content",
  },
});
