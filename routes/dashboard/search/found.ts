/** Finds runs, agents, customers and pages by a text. Each part reads a bounded number of rows. */
import type { Team } from "../../../domain/teams/team.ts";
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { isName } from "../../../domain/core/rules.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { AgentPosition, AgentRecord } from "../../../domain/agents/agents.ts";
import type { RunLines } from "../../../domain/runs/lines.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { AppDeps } from "../../http/context.ts";
import { countValues } from "../runs/runs_load.ts";

/** Maximum results of a kind. */
const SHOWN = 5;

/** Maximum agents that are compared with the text. */
const AGENTS_READ = 200;

/** Days of customers. */
const CUSTOMER_DAYS = 7;

/** Milliseconds of the search in texts of runs: readers wait for it with each letter. */
const SCAN_MS = 300;

export interface Found {
  readonly runs: readonly RunListRow[];
  /** Texts of these runs. */
  readonly lines: ReadonlyMap<RunId, RunLines>;
  /** Instant that the search of runs reached, unix milliseconds; null if it reached the end. */
  readonly searchedTo: number | null;
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
    findRuns(deps, team, text),
    findAgents(deps, team, text),
    findCustomers(deps, team, text, nowMs),
  ]);
  return { ...runs, agents, customers };
}

/** Finds a run by its id, or the latest runs by their goal, output or error. */
async function findRuns({ runList, lineage }: Deps, team: Team, text: string) {
  if (text === "") return NO_RUNS;
  const query = { text, from: null, to: null };
  const { rows, searchedTo } = await runList.page(team, query, null, SHOWN, SCAN_MS);
  return { runs: rows, searchedTo, lines: await lineage.lines(team, rows.map(({ id }) => id)) };
}

export const NO_RUNS = { runs: [], lines: new Map(), searchedTo: null } as const;

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
  const days = { from: dayOf(nowMs - CUSTOMER_DAYS * DAY_MS), to: dayOf(nowMs) };
  const [exact, latest] = await Promise.all([
    runList.page(team, { customer: text, from: null, to: null }, null, 1),
    countValues(spend, team, "customer", days),
  ]);
  const found = [...latest.keys()].filter((name) =>
    name !== text && name.toLowerCase().includes(wanted)
  );
  return [...exact.rows.length > 0 ? [text] : [], ...found].slice(0, SHOWN);
}
