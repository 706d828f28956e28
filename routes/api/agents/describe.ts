/** `/v1/agents`, described. */
import { z } from "zod";
import { agentPatchBody } from "../../../domain/agents/change.ts";
import { AGENT_SORTS, AGENTS_PER_PAGE } from "../../../domain/agents/agents.ts";
import { bodyDescription, type OperationDescription, tagged } from "../../openapi/describe.ts";
import {
  count,
  cursorOf,
  idOf,
  ifNoneMatch,
  instantField,
  limitOf,
  nextCursor,
  runStatus,
  slug,
} from "../../openapi/fields.ts";

const agent = z.object({
  agent: z.string().describe("The slug."),
  name: z.string().describe("What people see: the slug until it gets another."),
  first_seen: instantField.describe("Arrival of the call that created it."),
  last_seen: instantField.nullable().describe(
    "Latest arrival of an opening or a close of its runs.",
  ),
  runs: count.describe("All its runs, also those gone by age."),
  succeeded: count,
  failed: count,
  running: count,
  last_run_id: idOf("run").nullable().describe("The run with the latest `started_at`."),
  last_status: runStatus.nullable(),
  last_started_at: instantField.nullable(),
  notes: z.string().nullable(),
  archived: z.boolean(),
}).meta({ id: "Agent" });

const AGENT = {
  agent: "researcher",
  name: "researcher",
  first_seen: "2026-11-21T12:00:00.215Z",
  last_seen: "2026-11-21T12:00:09.120Z",
  runs: 1,
  succeeded: 1,
  failed: 0,
  running: 0,
  last_run_id: "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001",
  last_status: "success",
  last_started_at: "2026-11-21T12:00:00.000Z",
  notes: null,
  archived: false,
};

const pathFields = {
  slug: slug()
    .describe("The agent's slug, percent-encoded: `a/b` is `a%2Fb`."),
};

/** Who runs. */
export const AGENT_OPERATIONS: readonly OperationDescription[] = [
  {
    method: "GET",
    path: "/v1/agents",
    id: "listAgents",
    tag: "Agents",
    summary: "List agents",
    description: "What a call does to its agent is there a moment after its answer.",
    query: {
      sort: z.enum(AGENT_SORTS).default(AGENT_SORTS[0])
        .describe("The last seen first, or by slug; very many agents by slug alone."),
      limit: limitOf(AGENTS_PER_PAGE, "Agents"),
      cursor: cursorOf("cursor"),
      archived: z.boolean().default(false)
        .describe("Whether archived agents are among them."),
    },
    answers: [{
      status: 200,
      description: "A page of agents.",
      schema: z.object({ agents: z.array(agent), cursor: nextCursor }).meta({ id: "AgentPage" }),
    }],
    errors: [],
    idempotency: "read",
    example: {
      status: 200,
      answer: { agents: [AGENT], cursor: null },
      needs: ["openRun", "finishRun"],
    },
  },
  {
    method: "GET",
    path: "/v1/agents/:slug",
    id: "getAgent",
    tag: "Agents",
    summary: "Read an agent",
    description: "An unknown slug and another team's are 404 alike.",
    pathFields,
    headers: ifNoneMatch,
    answers: tagged("The agent as it is now.", agent),
    errors: ["not_found"],
    idempotency: "read",
    example: {
      path: { slug: "researcher" },
      status: 200,
      answer: AGENT,
      needs: ["openRun", "finishRun"],
    },
  },
  {
    method: "PATCH",
    path: "/v1/agents/:slug",
    id: "changeAgent",
    tag: "Agents",
    summary: "Change an agent",
    description:
      "What is not sent stays as it is. The slug that clients send stays, so a new name " +
      "loses no history. An archived agent leaves its place under the plan's cap to another, and " +
      "comes back when it opens a run again, if there is a place.",
    pathFields,
    body: bodyDescription(agentPatchBody, "AgentChange", {
      name: "What people see; empty for the slug.",
      notes: "Anything worth knowing; empty for nothing.",
      archived: "Whether it is out of use.",
    }),
    answers: [{ status: 200, description: "The agent as it then is.", schema: agent }],
    errors: ["agent_cap_reached", "not_found"],
    idempotency: "content",
    example: {
      path: { slug: "researcher" },
      body: { name: "Researcher", notes: "Ask Ada." },
      status: 200,
      answer: { ...AGENT, name: "Researcher", notes: "Ask Ada." },
      needs: ["openRun", "finishRun"],
    },
  },
];
