/**
 * Verifies incidents, their deliveries, and the groups of rules that fire.
 *
 * States are not recomputed: they depend on outcomes of runs that may be deleted.
 *
 * @module
 */
import type { Incident } from "../../domain/alerts/incident.ts";
import { hasPlace } from "../../domain/alerts/instance.ts";
import type { TeamCounts } from "../../domain/alerts/rule.ts";
import type { Delivery } from "../../domain/channels/delivery.ts";
import { INCIDENT_STATES } from "../../domain/channels/message.ts";
import { decodeIncident, decodeInstance } from "../alerts/rows.ts";
import { keyParts, keys } from "../base/keys.ts";
import { eachRow, getAll, getValue } from "../store.ts";
import { NONE, readImplied, type TeamCheck } from "./findings.ts";

/** Verifies the incidents of a team, their places in lists, and the groups that they belong to. */
export async function verifyIncidents(check: TeamCheck): Promise<void> {
  const { store, team, findings } = check;
  const ranges = [keys.incidentsAt(team, 0, Infinity), { prefix: keys.openIncidents(team) }];
  const places = await readImplied(check, ...ranges);
  const unresolved = new Set<string>();
  for await (const { key, value } of eachRow(store, { prefix: keys.incidents(team) })) {
    const id = keyParts.id(key);
    const what = `incident ${id}`;
    const incident = decoded(decodeIncident, value);
    if (incident === null || !isComplete(incident, id)) {
      findings.note(what, "readable", "not readable");
      continue;
    }
    const isOpen = incident.state !== "resolved";
    if (isOpen) unresolved.add(id);
    places.check(`place of ${what}`, keys.incidentAt(team, incident.openedAt, id));
    places.check(`${what} among open ones`, keys.openIncident(team, id), isOpen);
    await verifyRuns(check, incident);
  }
  places.noteStray("place of an incident");
  await verifyInstances(check, unresolved);
}

function decoded<Value>(decode: (value: unknown) => Value, value: unknown): Value | null {
  try {
    return decode(value);
  } catch {
    return null;
  }
}

function isComplete(incident: Partial<Incident>, id: string): incident is Incident {
  const { state, openedAt, runs, timeline } = incident;
  return incident.id === id && INCIDENT_STATES.some((each) => each === state) &&
    Number.isSafeInteger(openedAt) && Array.isArray(runs) && Array.isArray(timeline);
}

/** Verifies that each run of an incident that is still stored names the incident. */
async function verifyRuns({ store, team, findings }: TeamCheck, { id, runs }: Incident) {
  const summaries = await getAll(store, runs.map((run) => keys.summary(team, run)));
  const named = await getAll(store, runs.map((run) => keys.runIncidents(team, run)));
  for (const [i, run] of runs.entries()) {
    const names = named[i]?.value as readonly string[] | null;
    if (summaries[i]?.versionstamp === null || names?.includes(id)) continue;
    findings.note(`incidents of ${run}`, `with ${id}`, names?.join() ?? NONE);
  }
}

/**
 * Verifies the groups of alert rules that are not ok, and their numbers.
 *
 * @param unresolved ids of the incidents that are not resolved
 */
async function verifyInstances(
  { store, team, findings }: TeamCheck,
  unresolved: ReadonlySet<string>,
): Promise<void> {
  const left = new Set(unresolved);
  const state = await getValue<TeamCounts>(store, keys.alertState(team)) ?? {};
  const none = { instances: 0, firing: 0 };
  const counts = new Map(Object.keys(state).map((rule) => [rule, { ...none }]));
  for await (const { key, value } of eachRow(store, { prefix: keys.alerts(team) })) {
    const what = `group ${key.slice(2).join(" ")}`;
    const instance = decoded(decodeInstance, value);
    if (instance === null || instance.rule !== key[2] || instance.text !== key[3]) {
      findings.note(what, "readable", "not readable");
      continue;
    }
    const { rule, incident } = instance;
    const { instances, firing } = counts.get(rule) ?? none;
    counts.set(rule, { instances: instances + 1, firing: firing + (hasPlace(instance) ? 1 : 0) });
    if (incident === null || left.delete(incident)) continue;
    findings.note(`incident of ${what}`, "open", incident);
  }
  for (const id of left) findings.presence(`group of incident ${id}`, true, false);
  for (const [rule, expected] of counts) {
    const { instances, firing } = state[rule] ?? none;
    findings.compare(`numbers of rule ${rule}`, expected, { instances, firing });
  }
}

/** Verifies that each delivery is in the lists that its state requires, and in no other. */
export async function verifyDeliveries(check: TeamCheck): Promise<void> {
  const { store, team, findings } = check;
  const ranges = [keys.deliveriesAt(team, 0, Infinity), { prefix: keys.deadDeliveries(team) }];
  const places = await readImplied(check, ...ranges);
  for await (const { key, value } of eachRow<Delivery>(store, { prefix: keys.deliveries(team) })) {
    const id = keyParts.id(key);
    const what = `delivery ${id}`;
    if (value?.id !== id || !Number.isSafeInteger(value.createdAt)) {
      findings.note(what, "readable", "not readable");
      continue;
    }
    const { createdAt, state, message } = value;
    places.check(`place of ${what}`, keys.deliveryAt(team, createdAt, id));
    // A test is none of the messages that were lost.
    const isLost = state === "dead" && message.event !== "channel.test";
    places.check(`${what} among failed ones`, keys.deadDelivery(team, createdAt, id), isLost);
  }
  places.noteStray("place of a delivery");
}
