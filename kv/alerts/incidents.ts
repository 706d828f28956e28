/**
 * Stores incidents: reads, and changes by hand.
 *
 * @module
 */
import type {
  Incident,
  IncidentPlace,
  IncidentsQuery,
  OpenIncidents,
} from "../../domain/alerts/incident.ts";
import type { IncidentChange } from "../../domain/alerts/signal_sources.ts";
import type { Severity } from "../../domain/channels/message.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import { keyParts, keys } from "../base/keys.ts";
import type { ChangeDeps, TeamPlan } from "../team/team_rows.ts";
import { getValue, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { type IncidentLabels, readIncident, readIncidents, readOverflows } from "./rows.ts";

/** Maximum incidents that are not resolved of which lists know the state without reading others. */
const OPEN_MAX = 1_000;

/** Rows by time of one read, and of one page at most: a page with rare matches ends early. */
const ROWS = { perRead: 500, max: 5_000 } as const;

/** A page, latest first, and the position before which the next one starts; null at the end. */
interface IncidentPage {
  readonly incidents: readonly Incident[];
  readonly next: IncidentPlace | null;
}

/** Maximum incidents that are counted. */
const COUNTED_MAX = 20_000;

/** Reads incidents, and changes them by hand. */
export type IncidentStore = ReturnType<typeof createIncidentStore>;

/** Creates the store. Methods reject with `StorageUnavailable` when the store fails. */
export function createIncidentStore(deps: ChangeDeps) {
  const { store } = deps;
  const byHand =
    (what: IncidentChange["what"]) =>
    ({ id: team }: Team, id: string, note: string | null, made: MadeBy) =>
      change(deps, team, { id, note, made, what });
  return {
    list: ({ id: team }: Team, query: IncidentsQuery) =>
      store.reads.run(team, () => listIncidents(store, team, query)),
    read: ({ id: team }: Team, id: string) =>
      store.reads.run(team, () => readIncident(store, team, id)),
    /** Returns the numbers of incidents that are not resolved. */
    openCounts: ({ id }: Team) => store.reads.run(id, () => countOpen(store, id)),
    /** Returns the rules of which groups share one incident, by slug. */
    overflows: ({ id }: Team) => store.reads.run(id, () => readOverflows(store, id)),
    /** Returns the incidents that a run belongs to, oldest first. */
    ofRun: ({ id: team }: Team, run: RunId) =>
      store.reads.run(
        team,
        async () => await getValue<readonly string[]>(store, keys.runIncidents(team, run)) ?? [],
      ),
    /** Acknowledges an incident; changes nothing if it is acknowledged or resolved. */
    acknowledge: byHand("acknowledged"),
    /** Resolves an incident; changes nothing if it is resolved. */
    resolve: byHand("resolved"),
  };
}

/** Changes an incident by hand, with its audit entry, in the commit of its messages. */
async function change(
  { store, changes }: ChangeDeps,
  team: TeamId,
  byHand: IncidentChange,
): Promise<Incident | null> {
  const { id, note, made: { at, by }, what } = byHand;
  await changes.commitPlan(team, "call", async (): Promise<TeamPlan<null>> => {
    const incident = await readIncident(store, team, id);
    const isDone = incident === null || incident.state === "resolved" ||
      incident.state === what;
    if (isDone) return { result: null, rows: null };
    const action = `incident.${what}` as const;
    const sets = auditRows({ at, team, actor: by, action, target: id, details: { note } });
    return { result: null, rows: { sets, deletes: [], alerts: { signals: [], byHand } } };
  });
  return await readIncident(store, team, id);
}

async function countOpen(store: Store, team: TeamId): Promise<OpenIncidents> {
  const range = { prefix: keys.openIncidents(team) };
  const counts = { critical: 0, warning: 0, info: 0 };
  const rows = await listRows<Severity>(store, range, { limit: COUNTED_MAX });
  for (const { value } of rows) counts[value]++;
  return counts;
}

/** Reads a page, latest first. Those that are not resolved are few, and are read alone. */
async function listIncidents(
  store: Store,
  team: TeamId,
  query: IncidentsQuery,
): Promise<IncidentPage> {
  if (query.state !== null && query.state !== "resolved") {
    const range = { prefix: keys.openIncidents(team) };
    const open = await listRows(store, range, { limit: OPEN_MAX });
    if (open.length < OPEN_MAX) {
      const ids = open.map(({ key }) => keyParts.id(key));
      return pageOf(await readIncidents(store, team, ids), query);
    }
  }
  return await listByTime(store, team, query);
}

/** Returns the page of incidents that were all read. */
function pageOf(incidents: readonly Incident[], query: IncidentsQuery): IncidentPage {
  const { after, limit, fromMs, toMs } = query;
  const matching = incidents.filter((incident) => {
    const { openedAt } = incident;
    const isAfter = after === null || openedAt < after.at ||
      openedAt === after.at && incident.id < after.id;
    return isAfter && openedAt >= fromMs && openedAt < toMs && matches(incident, query);
  }).sort((a, b) => b.openedAt - a.openedAt || (a.id < b.id ? 1 : -1));
  const page = matching.slice(0, limit);
  const last = matching.length > limit ? page.at(-1) : undefined;
  return { incidents: page, next: last === undefined ? null : { at: last.openedAt, id: last.id } };
}

async function listByTime(
  store: Store,
  team: TeamId,
  query: IncidentsQuery,
): Promise<IncidentPage> {
  const { after, limit, fromMs, toMs } = query;
  if (after !== null && after.at < fromMs) return { incidents: [], next: null };
  const { start, end } = keys.incidentsAt(team, fromMs, toMs);
  let before: Deno.KvKey = after === null || after.at >= toMs
    ? end
    : keys.incidentAt(team, after.at, after.id);
  const matching: Incident[] = [];
  for (let read = 0; read < ROWS.max; read += ROWS.perRead) {
    const range = { start, end: before };
    const options = { limit: ROWS.perRead, reverse: true };
    const rows = await listRows<IncidentLabels>(store, range, options);
    const labelled = rows.filter(({ value }) => hasLabels(value, query));
    const ids = labelled.map(({ key }) => keyParts.id(key));
    for (let at = 0; at < ids.length; at += limit) {
      const incidents = await readIncidents(store, team, ids.slice(at, at + limit));
      matching.push(...incidents.filter((incident) => matches(incident, query)));
      const last = matching.length > limit ? matching[limit - 1] : undefined;
      if (last === undefined) continue;
      return { incidents: matching.slice(0, limit), next: { at: last.openedAt, id: last.id } };
    }
    const oldest = rows.at(-1);
    if (oldest === undefined || rows.length < ROWS.perRead) {
      return { incidents: matching, next: null };
    }
    before = oldest.key;
  }
  return { incidents: matching, next: { at: keyParts.position(before), id: keyParts.id(before) } };
}

function matches(incident: Incident, query: IncidentsQuery): boolean {
  const { rule, severity, group: { agent = null }, state } = incident;
  const isState = query.state === null || query.state === state ||
    query.state === "unresolved" && state !== "resolved";
  return isState && hasLabels({ rule, severity, agent }, query);
}

function hasLabels({ rule, severity, agent }: IncidentLabels, query: IncidentsQuery): boolean {
  return (query.rule === null || query.rule === rule) &&
    (query.severity === null || query.severity === severity) &&
    (query.agent === null || query.agent === agent);
}
