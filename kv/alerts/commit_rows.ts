/**
 * Collects the rows of changed instances and incidents for one commit.
 *
 * @module
 */
import { firstIncidentLookAt } from "../../domain/alerts/expiry.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import { groupLook } from "../../domain/alerts/look.ts";
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { newDeliveryRows } from "../channels/delivery_rows.ts";
import { workKey, workSet } from "../work/work_rows.ts";
import { getAll, type Store } from "../store.ts";
import { keyText } from "../writer/group.ts";
import type { KvSet } from "../writer/write.ts";
import { type AlertState, incidentAtSet, incidentSet, instanceSet } from "./rows.ts";

/**
 * Rows after which no further incident changes in a commit: the loop makes those changes. One more
 * incident has at most 20 runs, and 20 channels with five rows each.
 */
const ROWS_MAX = 150;

/** Rows of an incident without its runs, and of a delivery. */
const INCIDENT_ROWS = 4, DELIVERY_ROWS = 5;

/** Maximum incidents that a run names: the latest. */
const INCIDENTS_PER_RUN_MAX = 100;

/** Rows to set and to delete. */
export interface ChangedRows {
  readonly sets: KvSet[];
  readonly deletes: Deno.KvKey[];
}

/** Rows of one commit; a later change of a row replaces the earlier one. */
export class CommitRows {
  readonly #store: Store;
  readonly #team: TeamId;
  readonly #sets = new Map<string, KvSet>();
  readonly #deletes = new Map<string, Deno.KvKey>();
  readonly #incidentsOfRuns = new Map<RunId, string[]>();
  #rows = 0;

  constructor(store: Store, team: TeamId) {
    this.#store = store;
    this.#team = team;
  }

  /** True if a further incident may change. */
  get hasRoom(): boolean {
    return this.#rows < ROWS_MAX;
  }

  setInstance(instance: AlertInstance): void {
    this.#set(instanceSet(this.#team, instance));
  }

  removeInstance({ rule, text }: AlertInstance): void {
    this.#delete(keys.alert(this.#team, rule, text));
  }

  /** Files a look at a group. */
  fileDue(rule: string, text: string, at: number): void {
    this.#set(workSet({ at, kind: "rule", team: this.#team, name: groupLook(rule, text) }));
  }

  removeDue(rule: string, text: string, at: number): void {
    this.#delete(workKey({ at, kind: "rule", team: this.#team, name: groupLook(rule, text) }));
  }

  /** Writes an incident with its places in lists, and the messages about it. */
  write(incident: Incident, before: Incident | null, deliveries: readonly Delivery[]): void {
    const team = this.#team;
    const { id, openedAt, severity, state } = incident;
    this.#set(incidentSet(team, incident));
    if (before === null) {
      this.#set({ key: keys.openIncident(team, id), value: severity });
      this.#set(incidentAtSet(team, incident));
      this.#set(workSet({ at: firstIncidentLookAt(openedAt), kind: "incident", team, name: id }));
    }
    if (state === "resolved") this.#delete(keys.openIncident(team, id));
    const known = new Set(before?.runs);
    const added = incident.runs.filter((run) => !known.has(run));
    for (const run of added) this.name(run, id);
    for (const set of newDeliveryRows(team, deliveries)) this.#set(set);
    this.#rows += INCIDENT_ROWS + added.length + DELIVERY_ROWS * deliveries.length;
  }

  /** Names an incident in the record of a run. */
  name(run: RunId, incident: string): void {
    const incidents = this.#incidentsOfRuns.get(run) ?? [];
    incidents.push(incident);
    this.#incidentsOfRuns.set(run, incidents);
  }

  /** Returns all rows. */
  async all(before: AlertState, after: AlertState): Promise<ChangedRows> {
    if (before !== after) this.#set({ key: keys.alertState(this.#team), value: after });
    const sets = [...this.#sets.values(), ...await this.#runSets()];
    return { sets, deletes: [...this.#deletes.values()] };
  }

  async #runSets(): Promise<KvSet[]> {
    const runs = [...this.#incidentsOfRuns];
    const stored = await getAll(
      this.#store,
      runs.map(([run]) => keys.runIncidents(this.#team, run)),
    );
    return runs.map(([run, added], i) => {
      const known = (stored[i]?.value ?? []) as readonly string[];
      // Ids begin with their time.
      const value = [...new Set([...known, ...added])].sort().slice(-INCIDENTS_PER_RUN_MAX);
      return { key: keys.runIncidents(this.#team, run), value };
    });
  }

  #set(set: KvSet): void {
    const name = keyText(set.key);
    this.#deletes.delete(name);
    this.#sets.set(name, set);
  }

  #delete(key: Deno.KvKey): void {
    const name = keyText(key);
    this.#sets.delete(name);
    this.#deletes.set(name, key);
  }
}
