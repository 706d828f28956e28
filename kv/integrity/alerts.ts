/**
 * Verifies the incidents of a team, their places in lists, and the groups of rules that fire.
 *
 * States are not recomputed: they depend on outcomes of runs that may be deleted.
 *
 * @module
 */
import type { Incident } from "../../domain/alerts/incident.ts";
import { INCIDENT_STATES } from "../../domain/channels/message.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { decodeIncident } from "../alerts/rows.ts";
import { keyParts, keys } from "../base/keys.ts";
import { eachRow, getAll, type Store } from "../store.ts";
import { keyText } from "../writer/group.ts";
import { verifyInstances } from "./instances.ts";
import { type Mismatch, NONE } from "./mismatch.ts";

/** Verifies the incidents of a team. */
export async function verifyIncidents(store: Store, team: TeamId): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  const note = (what: string, expected: string, found: string) =>
    void mismatches.push({ what, expected, found });
  const at = await namesIn(store, keys.incidentsAt(team, 0, Infinity));
  const unresolved = new Set<string>();
  const open = await namesIn(store, { prefix: keys.openIncidents(team) });
  for await (const { key, value } of eachRow(store, { prefix: keys.incidents(team) })) {
    const id = keyParts.id(key);
    const what = `incident ${id}`;
    const incident = readable(value, id);
    if (incident === null) {
      note(what, "readable", "not readable");
      continue;
    }
    const place = keyText(keys.incidentAt(team, incident.openedAt, id));
    if (!at.delete(place)) note(`place of ${what}`, "stored", NONE);
    const isListed = open.delete(keyText(keys.openIncident(team, id)));
    const isOpen = incident.state !== "resolved";
    if (isOpen) unresolved.add(id);
    if (isListed !== isOpen) {
      note(`${what} among open ones`, isOpen ? "stored" : NONE, isListed ? "stored" : NONE);
    }
    mismatches.push(...await verifyRuns(store, team, incident));
  }
  for (const name of [...at, ...open]) note(`place of an incident: ${name}`, NONE, "stored");
  return [...mismatches, ...await verifyInstances(store, team, unresolved)];
}

function readable(value: unknown, id: string): Incident | null {
  try {
    const incident: Partial<Incident> | null = decodeIncident(value);
    const { state, openedAt, runs, timeline } = incident ?? {};
    const isWhole = incident?.id === id && INCIDENT_STATES.some((each) => each === state) &&
      Number.isSafeInteger(openedAt) && Array.isArray(runs) && Array.isArray(timeline);
    return isWhole ? incident as Incident : null;
  } catch {
    return null;
  }
}

/** Checks that each run of an incident that is still stored names the incident. */
async function verifyRuns(store: Store, team: TeamId, incident: Incident): Promise<Mismatch[]> {
  const { id, runs } = incident;
  const rows = await getAll(
    store,
    runs.flatMap((run) => [keys.summary(team, run), keys.runIncidents(team, run)]),
  );
  return runs.flatMap((run, i) => {
    const [summary, incidents] = rows.slice(2 * i, 2 * i + 2);
    const names = incidents?.value as readonly string[] | null;
    if (summary?.versionstamp === null || names?.includes(id)) return [];
    return [{ what: `incidents of ${run}`, expected: `with ${id}`, found: names?.join() ?? NONE }];
  });
}

async function namesIn(store: Store, range: Deno.KvListSelector): Promise<Set<string>> {
  return new Set(await Array.fromAsync(eachRow(store, range), ({ key }) => keyText(key)));
}
