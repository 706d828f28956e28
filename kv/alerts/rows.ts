/**
 * Rows of alert instances and incidents. Both are stored compressed: a timeline repeats its words.
 *
 * @module
 */
import type { AlertChange } from "../../domain/alerts/decide.ts";
import { firstIncidentLookAt, groupName } from "../../domain/alerts/deadlines.ts";
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import type { RuleOverflow, TeamCounts } from "../../domain/alerts/rule.ts";
import type { Severity } from "../../domain/channels/message.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { packBlob, unpackBlob } from "../base/blob.ts";
import { keys } from "../base/keys.ts";
import { newDeliveryRows } from "../channels/delivery_rows.ts";
import { getAll, getValue, type Store } from "../store.ts";
import { type RowFamily, type TeamKey, teamKey, type TeamSet, teamSet } from "../team/rows.ts";
import { workKey, workSet } from "../work/store.ts";
import type { KvSet } from "../writer/group.ts";

/** Maximum incidents that a run names: the latest. */
const INCIDENTS_PER_RUN_MAX = 100;

/** Bytes in memory of an instance, of each of its outcomes, and of the numbers of a rule, roughly. */
const INSTANCE_BYTES = 600, OUTCOME_BYTES = 250, COUNTS_BYTES = 150;

const INSTANCES: RowFamily<AlertInstance> = {
  decode: (stored) => decoded(stored) as AlertInstance,
  encode: encoded,
  bytesOf: ({ outcomes }) => INSTANCE_BYTES + OUTCOME_BYTES * outcomes.kept.length,
};

const COUNTS: RowFamily<TeamCounts> = {
  decode: (stored) => stored as TeamCounts,
  encode: (counts) => counts,
  bytesOf: (counts) => COUNTS_BYTES * Object.keys(counts).length,
};

/** Returns the row of a group that is not ok. */
export function instanceRow(team: TeamId, rule: string, group: string): TeamKey<AlertInstance> {
  return teamKey(INSTANCES, keys.alert(team, rule, group));
}

/** Returns the row of the numbers of a team's instances. */
export function countsRow(team: TeamId): TeamKey<TeamCounts> {
  return teamKey(COUNTS, keys.alertState(team));
}

/** Immutable fields of an incident that lists are filtered by, in its row by time. */
export interface IncidentLabels {
  readonly rule: string;
  /** Agent of its group; null for none. */
  readonly agent: string | null;
  readonly severity: Severity;
}

/** Reads the rules of which groups share one incident, by slug. */
export async function readOverflows(
  store: Store,
  team: TeamId,
): Promise<ReadonlyMap<string, RuleOverflow>> {
  const state = await getValue<TeamCounts>(store, keys.alertState(team)) ?? {};
  return new Map(
    Object.entries(state).flatMap(([slug, { overflow }]) =>
      overflow === null ? [] : [[slug, overflow] as const]
    ),
  );
}

/** Decodes the value of an instance's row; null for none. */
export function decodeInstance(value: unknown): AlertInstance | null {
  return decoded(value) as AlertInstance | null;
}

/** Returns the set of an instance. */
export function instanceSet(team: TeamId, instance: AlertInstance): KvSet {
  return { key: keys.alert(team, instance.rule, instance.text), value: encoded(instance) };
}

/** Decodes the value of an incident's row; null for none. */
export function decodeIncident(value: unknown): Incident | null {
  return decoded(value) as Incident | null;
}

/** Returns the set of an incident alone, without its rows by time and state. */
export function incidentSet(team: TeamId, incident: Incident): KvSet {
  return { key: keys.incident(team, incident.id), value: encoded(incident) };
}

/** Reads an incident; null if there is none. */
export async function readIncident(
  store: Store,
  team: TeamId,
  id: string,
): Promise<Incident | null> {
  return decodeIncident(await getValue(store, keys.incident(team, id)));
}

/** Reads incidents in order; leaves out those that are gone. */
export async function readIncidents(
  store: Store,
  team: TeamId,
  ids: readonly string[],
): Promise<Incident[]> {
  const entries = await getAll(store, ids.map((id) => keys.incident(team, id)));
  return entries.map(({ value }) => decodeIncident(value)).filter((incident) => incident !== null);
}

/** Returns the row of an incident by time. */
export function incidentAtSet(team: TeamId, incident: Incident): KvSet {
  const { id, openedAt, rule, group: { agent = null }, severity } = incident;
  const labels: IncidentLabels = { rule, agent, severity };
  return { key: keys.incidentAt(team, openedAt, id), value: labels };
}

/** Rows that a change of alerts sets and deletes. */
export interface AlertSets {
  /** Instances and their numbers. */
  readonly rows: readonly TeamSet[];
  readonly sets: readonly KvSet[];
  readonly deletes: readonly Deno.KvKey[];
}

/** Returns the rows that a change of a team's alerts sets and deletes. */
export function changeRows(
  team: TeamId,
  before: TeamCounts,
  { instances, incidents, deliveries, due, counts, incidentsOfRuns }: AlertChange,
  named: readonly Deno.KvEntryMaybe<unknown>[],
): AlertSets {
  const rows = counts === before ? [] : [teamSet(countsRow(team), counts)];
  for (const { before, after } of instances.values()) {
    const { rule, text } = after ?? before ?? {};
    if (rule !== undefined && text !== undefined) {
      rows.push(teamSet(instanceRow(team, rule, text), after));
    }
  }
  const sets: KvSet[] = [];
  const deletes: Deno.KvKey[] = [];
  for (const { rule, group, at, isFiled } of due) {
    const row = { at, kind: "rule", team, name: groupName(rule, group) } as const;
    if (isFiled) sets.push(workSet(row));
    else deletes.push(workKey(row));
  }
  for (const { incident, isNew } of incidents.values()) {
    const { id, openedAt, severity, state } = incident;
    const openKey = keys.openIncident(team, id);
    sets.push(incidentSet(team, incident));
    if (isNew) {
      const at = firstIncidentLookAt(openedAt);
      sets.push(incidentAtSet(team, incident), workSet({ at, kind: "incident", team, name: id }));
    }
    if (state === "resolved") deletes.push(openKey);
    else if (isNew) sets.push({ key: openKey, value: severity });
  }
  const runs = [...incidentsOfRuns.values()].map((added, i): KvSet => {
    const { key, value } = named[i] as Deno.KvEntryMaybe<readonly string[]>;
    // Ids begin with their time.
    const all = [...new Set([...value ?? [], ...added])].sort();
    return { key, value: all.slice(-INCIDENTS_PER_RUN_MAX) };
  });
  return { rows, sets: [...sets, ...newDeliveryRows(team, deliveries), ...runs], deletes };
}

function encoded(value: AlertInstance | Incident): Uint8Array {
  return packBlob(JSON.stringify(value), noPieces).head;
}

function decoded(value: unknown): unknown {
  return value instanceof Uint8Array ? JSON.parse(unpackBlob(value, [])) : null;
}

function noPieces(): never {
  throw new TypeError("The incident is too large for one value");
}
