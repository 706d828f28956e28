/**
 * Rows of alert instances and incidents, and the plan of a commit that changes them.
 *
 * Both are stored compressed: a timeline repeats its words. Instances are cached with other rows of
 * their team, so a good run of a team without instances costs no read.
 *
 * @module
 */
import {
  type AlertChange,
  type AlertRows,
  decideAlerts,
  type LackingRows,
  type LateGroup,
} from "../../domain/alerts/decide.ts";
import { type AlertInstance, firstReviewAt } from "../../domain/alerts/instance.ts";
import {
  type AlertSignal,
  groupName,
  groupOf,
  resolvedSignal,
} from "../../domain/alerts/signal.ts";
import type { Incident, StampSource } from "../../domain/alerts/incident.ts";
import type { RuleOverflow, TeamCounts } from "../../domain/alerts/rule.ts";
import type { Severity } from "../../domain/channels/message.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { packJson, storedJson, unpackJson } from "../base/blob.ts";
import { keys } from "../base/keys.ts";
import { newDeliveryRows } from "../channels/delivery_rows.ts";
import { getAll, getValue, type Store } from "../store.ts";
import {
  type RowFamily,
  type TeamKey,
  teamKey,
  type TeamRows,
  type TeamSet,
  teamSet,
} from "../team/team_rows.ts";
import { workKey, workSet } from "../work/store.ts";
import type { KvSet } from "../writer/group.ts";
import type { AlertWork } from "../../domain/alerts/signal_sources.ts";
import { earlierOutcomes } from "./run_work.ts";
import { TEXT_CHARS_MAX } from "../../domain/channels/forms/words.ts";
import { cutText, printable } from "../../domain/core/text.ts";
import { errorOf } from "../../domain/runs/run.ts";
import { hasSpanTexts, readHeads, type SummarizedHead } from "../runs/heads.ts";
import { withTexts } from "../runs/texts.ts";
import { DAY_MS, dayOf } from "../../domain/core/time.ts";
import type { ModelName } from "../../domain/runs/model_usage.ts";
import { keyPart } from "../index/entries.ts";
import { decodeRollup } from "../spend/rollups.ts";
import type { AlertConfig } from "../../domain/alerts/transition.ts";

/** Maximum incidents that a run names: the latest. */
const INCIDENTS_PER_RUN_MAX = 100;

/** Bytes in memory of an instance, of each of its outcomes, and of the numbers of a rule, roughly. */
const INSTANCE_BYTES = 600, OUTCOME_BYTES = 250, COUNTS_BYTES = 150;

const INSTANCES: RowFamily<AlertInstance> = {
  decode: (stored) => unpackJson(stored as Uint8Array),
  encode: packJson,
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
  return storedJson(value);
}

/** Returns the set of an instance. */
export function instanceSet(team: TeamId, instance: AlertInstance): KvSet {
  return { key: keys.alert(team, instance.rule, instance.text), value: packJson(instance) };
}

/** Decodes the value of an incident's row; null for none. */
export function decodeIncident(value: unknown): Incident | null {
  return storedJson(value);
}

/** Returns the set of an incident alone, without its rows by time and state. */
export function incidentSet(team: TeamId, incident: Incident): KvSet {
  return { key: keys.incident(team, incident.id), value: packJson(incident) };
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
      const at = firstReviewAt(openedAt);
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

/** Rows of a decision that grow until it lacks none. */
interface GrowingRows {
  readonly instances: Map<string, AlertInstance | null>;
  readonly incidents: Map<string, Incident | null>;
  readonly earlier: Map<string, readonly AlertSignal[]>;
  readonly unpriced: Map<string, boolean>;
  readonly errors: Map<RunId, string | null>;
}

/**
 * Reads the rows that a decision lacks.
 *
 * @param cached rows of the team, under the version that the commit checks
 * @param rows receives them
 * @param changing runs that the commit changes
 * @param heads heads of runs, as the commit knows them
 */
async function readLacking(
  store: Store,
  team: TeamId,
  cached: TeamRows,
  rows: GrowingRows,
  lacking: LackingRows,
  changing: ReadonlySet<RunId>,
  heads: ReadonlyMap<RunId, SummarizedHead>,
): Promise<void> {
  const groups = [...lacking.instances];
  const ids = [...lacking.incidents];
  const [instances, incidents] = await Promise.all([
    cached.getAll(groups.map(([, { rule, group }]) => instanceRow(team, rule, group))),
    getAll(store, ids.map((id) => keys.incident(team, id))),
  ]);
  for (const [i, [name]] of groups.entries()) rows.instances.set(name, instances[i] ?? null);
  for (const [i, id] of ids.entries()) rows.incidents.set(id, decodeIncident(incidents[i]?.value));
  for (const [name, group] of lacking.earlier) {
    const signals = await earlierOutcomes(store, team, group, changing);
    rows.earlier.set(name, [...signals, ...await resolvedBefore(store, team, group, signals)]);
  }
  for (const [name, signals] of lacking.unpriced) {
    rows.unpriced.set(name, await wereUnpriced(store, team, signals));
  }
  for (const run of lacking.errors) {
    rows.errors.set(run, await readError(store, team, run, heads.get(run)));
  }
}

/**
 * Returns the signal of the user who resolved an incident of bad signals last; none if nobody did. A
 * group without an instance does not know of it.
 */
async function resolvedBefore(
  store: Store,
  team: TeamId,
  { rule, subject }: LateGroup,
  signals: readonly AlertSignal[],
): Promise<readonly AlertSignal[]> {
  const runs = signals.flatMap(({ outcome, run }) =>
    outcome === "bad" && run !== null ? [run] : []
  );
  const named = await getAll(store, runs.map((run) => keys.runIncidents(team, run)));
  const ids = new Set(named.flatMap(({ value }) => value as readonly string[] | null ?? []));
  // Ids begin with their time.
  const latest = [...ids].sort().slice(-INCIDENTS_PER_RUN_MAX);
  const { text } = groupOf(rule.settings.groupBy, subject);
  const times = (await readIncidents(store, team, latest))
    .filter((incident) => incident.rule === rule.slug && incident.groupText === text)
    .flatMap(({ resolvedBy, resolvedAt }) => resolvedBy === "hand" ? resolvedAt ?? [] : []);
  return times.length === 0 ? [] : [resolvedSignal(rule, Math.max(...times))];
}

/**
 * Returns the first 200 characters of a run's error; null if it has none.
 *
 * @param known its head, if the commit changes it: read again if one in memory may lack its texts
 */
async function readError(
  store: Store,
  team: TeamId,
  id: RunId,
  known: SummarizedHead | undefined,
): Promise<string | null> {
  const isComplete = known !== undefined && known.recent?.isStripped !== true &&
    !hasSpanTexts(known);
  const run = isComplete ? known : (await readHeads({ store, team }, [id]))[0];
  if (run === undefined) return null;
  const { head } = hasSpanTexts(run) ? await withTexts(run) : run;
  const error = errorOf(head.parts);
  return error === null ? null : cutText(printable(error), TEXT_CHARS_MAX.error);
}

/** Days before a call, of which the roll-ups are read: a model in use is found in the first ones. */
const DAYS = [[0, 2], [2, 31]] as const;

/**
 * Returns whether all models that signals report were called without a price in the 30 days before,
 * by the roll-ups as stored.
 */
async function wereUnpriced(
  store: Store,
  team: TeamId,
  signals: readonly AlertSignal[],
): Promise<boolean> {
  const models = new Map(
    signals.filter(({ outcome }) => outcome === "bad")
      .map(({ key, at }) => [key, at]),
  );
  for (const [model, atMs] of models) {
    if (!await wasUnpriced(store, team, model, atMs)) return false;
  }
  return models.size > 0;
}

async function wasUnpriced(
  store: Store,
  team: TeamId,
  model: string,
  atMs: number,
): Promise<boolean> {
  const parts = namesOf(model).map((value) => keyPart({ kind: "model", value }));
  for (const [from, to] of DAYS) {
    const days = Array.from({ length: to - from }, (_, i) => dayOf(atMs - (from + i) * DAY_MS));
    const rows = await getAll(
      store,
      days.flatMap((day) => parts.map((part) => keys.rollup(team, "model", day, part))),
    );
    const isCalled = rows.some(({ key, value }) =>
      value instanceof Uint8Array &&
      decodeRollup(String(key[3]), value).measures.unpricedCalls > 0
    );
    if (isCalled) return true;
  }
  return false;
}

/** Returns the models that a name may stand for: `provider/model`, or the model alone. */
function namesOf(name: string): ModelName[] {
  const at = name.indexOf("/");
  const alone = { provider: null, model: name };
  if (at <= 0) return [alone];
  return [{ provider: name.slice(0, at), model: name.slice(at + 1) }, alone];
}

/** Dependencies of plans. */
export interface AlertDeps {
  readonly store: Store;
  readonly stamps: StampSource;
}

/** Rows that alerts add to a commit. */
export interface AlertPlan extends AlertSets {
  /** Runs whose outcome an instance counts. */
  readonly counted: ReadonlySet<RunId>;
}

/** A commit that changes no alerts. */
export const NO_ALERTS: AlertPlan = { rows: [], sets: [], deletes: [], counted: new Set() };

/** Runs that a commit changes, and what it knows of their agents. */
export interface ChangedRuns extends Pick<AlertRows, "seenBefore"> {
  readonly runs: readonly SummarizedHead[];
}

/**
 * Plans the changes of a team's alerts.
 *
 * @param cached rows of the team, whose version was read before what the signals report
 */
export async function planAlerts(
  { store, stamps }: AlertDeps,
  team: TeamId,
  cached: TeamRows,
  config: AlertConfig,
  work: AlertWork,
  changed: ChangedRuns,
): Promise<AlertPlan> {
  const { signals, dueGroups = [], byHand, ends } = work;
  const isNothing = dueGroups.length === 0 && byHand === undefined && ends === undefined;
  if (signals.length === 0 && isNothing) return NO_ALERTS;
  const changing = new Set(signals.flatMap(({ run }) => run === null ? [] : [run]));
  const heads = new Map(changed.runs.map((run) => [run.id, run]));
  const counts = await cached.get(countsRow(team)) ?? {};
  const rows = {
    ...{ config, counts, seenBefore: changed.seenBefore, instances: new Map() },
    ...{ incidents: new Map(), earlier: new Map(), unpriced: new Map(), errors: new Map() },
  };
  const stamp = stamps();
  for (;;) {
    const { change, lacking } = decideAlerts(rows, work, stamp.begin());
    if (change === null) {
      await readLacking(store, team, cached, rows, lacking, changing, heads);
      continue;
    }
    const runs = [...change.incidentsOfRuns.keys()];
    const named = await getAll(store, runs.map((run) => keys.runIncidents(team, run)));
    return { ...changeRows(team, counts, change, named), counted: change.counted };
  }
}
