/**
 * Rows of alert instances and incidents. Both are stored compressed: a timeline repeats its words.
 *
 * @module
 */
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import type { RuleOverflow } from "../../domain/alerts/rule.ts";
import type { Severity } from "../../domain/channels/message.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { packBlob, unpackBlob } from "../base/blob.ts";
import { keys } from "../base/keys.ts";
import { getAll, getValue, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";

/** Numbers of the instances of a rule. */
export interface RuleState {
  /** Instances with a row. */
  readonly instances: number;
  /** Instances with an incident, or that wait for it. */
  readonly firing: number;
  /** Groups that share one incident; null for none. */
  readonly overflow: RuleOverflow | null;
}

/** Numbers of a team's instances, by the rule's slug; a rule without any is left out. */
export type AlertState = Readonly<Record<string, RuleState>>;

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
  const state = await getValue<AlertState>(store, keys.alertState(team)) ?? {};
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

function encoded(value: AlertInstance | Incident): Uint8Array {
  return packBlob(JSON.stringify(value), noPieces).head;
}

function decoded(value: unknown): unknown {
  return value instanceof Uint8Array ? JSON.parse(unpackBlob(value, [])) : null;
}

function noPieces(): never {
  throw new TypeError("The incident is too large for one value");
}
