/** Incidents as entries of feeds and on other pages: of their agent and their runs. */
import type { Child } from "hono/jsx";
import {
  type Incident,
  INCIDENTS_PER_PAGE,
  type IncidentsQuery,
} from "../../../domain/alerts/incident.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { Reader } from "../layout/page.tsx";
import { Feed, type FeedEntry, Section } from "../components/elements.tsx";
import { queryText } from "../layout/paths.ts";
import { countText, openFor, SEVERITY_LABELS } from "./labels.tsx";
import { HISTORY_PATH, incidentPath } from "./paths.ts";

/** Returns the entry of an open incident, with its error; `end` says since when or how long. */
export function incidentEntry(incident: Incident, end: Child, isCurrent = false): FeedEntry {
  const { id, severity, title, error, state, isSilenced } = incident;
  const [, icon, name] = SEVERITY_LABELS[severity];
  const notes = [severity, countText(incident), state, isSilenced ? "silenced" : null];
  const words = notes.filter((note) => note !== null && note !== "open").join(" · ");
  return {
    ...{ to: incidentPath(id), mark: [icon, name], title, end, isCurrent },
    text: [error !== null && <span class="err-count">{error}</span>, ` ${words}`],
  };
}

/** Maximum open incidents shown on the page of an agent. */
const OF_AGENT_SHOWN = 5;

/** Reads open incidents, newest first; by default of all agents and severities. */
export async function readOpenIncidents(
  { deps, team }: Reader,
  query: Partial<IncidentsQuery> = {},
): Promise<readonly Incident[]> {
  const page = await deps.incidents.list(team, {
    ...{ state: "unresolved", rule: null, severity: null, after: null, agent: null },
    ...{ limit: INCIDENTS_PER_PAGE.max, fromMs: 0, toMs: Infinity, ...query },
  });
  return page.incidents;
}

interface AgentIncidentsProps {
  readonly agent: string;
  readonly incidents: readonly Incident[];
  readonly now: number;
}

/** The open incidents of an agent; nothing without any. */
export function AgentIncidents({ agent, incidents, now }: AgentIncidentsProps) {
  const entries = incidents.slice(0, OF_AGENT_SHOWN)
    .map((incident) => incidentEntry(incident, openFor(incident, now)));
  return entries.length > 0 && (
    <Section title="Open incidents" aside={<a href={agentHistoryPath(agent)}>All its incidents</a>}>
      <Feed entries={entries} empty="" />
    </Section>
  );
}

/** Path of all incidents of an agent. */
export function agentHistoryPath(agent: string): string {
  return HISTORY_PATH + queryText([["state", "any"], ["agent", agent]]);
}

/** Latest incidents shown on the page of a run. */
const OF_RUN_MAX = 3;

/** Reads the latest incidents that a run belongs to, oldest first. */
export async function readIncidentsOfRun({ deps: { incidents }, team }: Reader, run: RunId) {
  const ids = await incidents.ofRun(team, run);
  const read = await Promise.all(ids.slice(-OF_RUN_MAX).map((id) => incidents.read(team, id)));
  return read.filter((incident) => incident !== null);
}

/** Names the incidents of a run in one line; nothing without any. */
export function RunIncidents(
  { incidents, nowMs }: { readonly incidents: readonly Incident[]; readonly nowMs: number },
) {
  const parts = incidents.map((incident, i) => {
    const { id, title, state } = incident;
    const words = state === "resolved" ? state : `${state} for ${openFor(incident, nowMs)}`;
    return [i === 0 ? "Incident " : ", ", <a href={incidentPath(id)}>{title}</a>, ` (${words})`];
  });
  return <>{parts}</>;
}
