/** Finds runs, agents, customers and pages by a text. Each part reads a bounded number of rows. */
import type { Team } from "../../../domain/teams/team.ts";
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import { isRunId } from "../../../domain/core/ids.ts";
import { isName } from "../../../domain/core/rules.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { AgentPosition, AgentRecord } from "../../../domain/agents/agents.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { labelOf } from "../../../domain/spend/spend_query.ts";
import type { AppDeps } from "../../http/context.ts";

/** Maximum results of a kind. */
const SHOWN = 5;

/** Maximum agents, and rows of customers by day, that are compared with the text. */
const AGENTS_READ = 200, CUSTOMER_ROWS_READ = 500;

/** Days of customers, and of runs by a part of an id. */
const CUSTOMER_DAYS = 7, RUN_DAYS = 1;

/** A part of a run's id: 4 characters at least, or nearly every run has it. */
export const PART_OF_ID = /^(?:run_(?:eu|us)_)?[0-9a-f]{4,32}$/;

export interface Found {
  readonly runs: readonly RunListRow[];
  readonly agents: readonly AgentRecord[];
  readonly customers: readonly string[];
}

type Deps = Pick<AppDeps, "runList" | "lineage" | "agents" | "spend">;

/** Searches all kinds in parallel. An empty text finds agents only. */
export async function findAll(
  deps: Deps,
  team: Team,
  text: string,
  nowMs: number,
): Promise<Found> {
  const [runs, agents, customers] = await Promise.all([
    findRuns(deps, team, text, nowMs),
    findAgents(deps, team, text),
    findCustomers(deps, team, text, nowMs),
  ]);
  return { runs, agents, customers };
}

/** Finds a run by its id, of any age, or the latest runs by a part of it. */
async function findRuns({ runList, lineage }: Deps, team: Team, text: string, nowMs: number) {
  const id = text.toLowerCase();
  if (isRunId(id)) return await lineage.rows(team, [id]);
  if (!PART_OF_ID.test(id)) return [];
  const query = { q: id, from: nowMs - RUN_DAYS * DAY_MS, to: null };
  return (await runList.page(team, query, null, SHOWN)).rows;
}

/**
 * Finds the agent of this slug, those whose slug begins with the text, and those among the first
 * ones by slug whose slug or name contains it.
 */
async function findAgents({ agents }: Deps, team: Team, text: string): Promise<AgentRecord[]> {
  const list = async (limit: number, after: AgentPosition | null) => {
    const page = await agents.list(team, { limit, after, archived: false, sort: "agent" });
    return page.ok ? page.value.agents : [];
  };
  const [exact, beginning, first] = await Promise.all([
    isName(text, AGENT_CHARS_MAX) ? agents.read(team, text) : null,
    text === "" ? [] : list(SHOWN, { agent: text, lastSeen: null }),
    list(AGENTS_READ, null),
  ]);
  const wanted = text.toLowerCase();
  const containing = first.filter(({ agent, name }) =>
    agent.toLowerCase().includes(wanted) || (name ?? "").toLowerCase().includes(wanted)
  );
  const found = [
    ...exact === null ? [] : [exact],
    ...beginning.filter(({ agent }) => agent.startsWith(text)),
    ...containing.sort((a, b) => lastSeenOf(b) - lastSeenOf(a)),
  ];
  return [...new Map(found.map((record) => [record.agent, record])).values()].slice(0, SHOWN);
}

function lastSeenOf({ activity }: AgentRecord): number {
  return activity?.lastSeen ?? 0;
}

/** Finds the customers of the last days whose name contains the text, and the one that has it. */
async function findCustomers(
  { spend, runList }: Deps,
  team: Team,
  text: string,
  nowMs: number,
): Promise<string[]> {
  if (text === "") return [];
  const wanted = text.toLowerCase();
  const [exact, latest] = await Promise.all([
    runList.page(team, { customer: text, from: null, to: null }, null, 1),
    latestCustomers(spend, team, nowMs),
  ]);
  const found = latest.filter((name) => name !== text && name.toLowerCase().includes(wanted));
  return [...exact.rows.length > 0 ? [text] : [], ...found].slice(0, SHOWN);
}

async function latestCustomers(spend: Deps["spend"], team: Team, nowMs: number) {
  const names = new Set<string>();
  let remaining = CUSTOMER_ROWS_READ;
  const [from, to] = [dayOf(nowMs - CUSTOMER_DAYS * DAY_MS), dayOf(nowMs)];
  for await (const rows of spend.rows(team, "customer", from, to)) {
    for (const { group } of rows.slice(0, remaining)) {
      const name = labelOf(group, "customer");
      if (name !== null) names.add(name);
    }
    remaining -= rows.length;
    if (remaining <= 0) break;
  }
  return [...names];
}
