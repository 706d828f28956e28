/** Finds runs, agents and customers by a text. Each part reads a bounded number of rows. */
import { nullIfRefused } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX } from "../../../domain/core/limits.ts";
import { isName } from "../../../domain/core/rules.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { AgentPosition } from "../../../domain/agents/agents.ts";
import type { Reader } from "../layout/page.tsx";
import { countValues } from "../runs/runs_load.ts";

/** Maximum results of a kind. */
const SHOWN = 5;

/** Maximum agents that are compared with the text. */
const AGENTS_READ = 200;

const CUSTOMER_DAYS = 7;

/** Milliseconds of the search in texts of runs: readers wait for it with each letter. */
const SCAN_MS = 300;

/** Searches all kinds in parallel. An empty text finds agents only. */
export async function loadSearch(reader: Reader, text: string, nowMs: number) {
  const { deps: { runList, lineage }, team } = reader;
  const byText = { text, from: null, to: null };
  const [page, agents, customers] = await Promise.all([
    text === "" ? null : runList.page(team, byText, null, SHOWN, SCAN_MS),
    findAgents(reader, text),
    text === "" ? [] : findCustomers(reader, text, nowMs),
  ]);
  const { rows: runs = [], searchedTo = null } = page ?? {};
  const lines = await lineage.lines(team, runs.map(({ id }) => id));
  return { runs, lines, searchedTo, agents, customers };
}

/**
 * Finds the agent of this slug, those whose slug begins with the text, and those among the first
 * ones by slug whose slug or name contains it.
 */
async function findAgents({ deps: { agents }, team }: Reader, text: string) {
  const list = async (limit: number, after: AgentPosition | null) => {
    const query = { limit, after, archived: false, sort: "agent" } as const;
    return (await agents.list(team, query).catch(nullIfRefused))?.agents ?? [];
  };
  const [exact, beginning, first] = await Promise.all([
    isName(text, AGENT_CHARS_MAX) ? agents.read(team, text) : null,
    text === "" ? [] : list(SHOWN, { agent: text, lastSeen: null }),
    list(AGENTS_READ, null),
  ]);
  const wanted = text.toLowerCase();
  const containing = first.filter(({ agent, name }) =>
    [agent, name ?? ""].some((name) => name.toLowerCase().includes(wanted))
  ).sort((a, b) => (b.activity?.lastSeen ?? 0) - (a.activity?.lastSeen ?? 0));
  const matching = [
    ...exact === null ? [] : [exact],
    ...beginning.filter(({ agent }) => agent.startsWith(text)),
    ...containing,
  ];
  return [...new Map(matching.map((record) => [record.agent, record])).values()].slice(0, SHOWN);
}

/** Finds the customers of the last days whose name contains the text, and the one that has it. */
async function findCustomers(reader: Reader, text: string, nowMs: number) {
  const { deps: { runList }, team } = reader;
  const days = { from: dayOf(nowMs - CUSTOMER_DAYS * DAY_MS), to: dayOf(nowMs) };
  const [exact, latest] = await Promise.all([
    runList.page(team, { customer: text, from: null, to: null }, null, 1),
    countValues(reader, "customer", days),
  ]);
  const containing = [...latest.keys()].filter((name) =>
    name !== text && name.toLowerCase().includes(text.toLowerCase())
  );
  return [...exact.rows.length > 0 ? [text] : [], ...containing].slice(0, SHOWN);
}
