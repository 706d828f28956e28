/**
 * Work of incidents and silences.
 *
 * What has expired of an incident is removed, and the runs that were removed, and a deleted customer
 * with the customer's incidents (decision 57). Rules and silences that name the customer belong to
 * the team and stay. What a silence held back and is still open is sent once it ends, is changed or
 * deleted (decision 78).
 *
 * @module
 */
import {
  incidentWithoutRuns,
  instanceWithoutRuns,
  runsOfIncident,
  withoutCustomer,
  withoutError,
  withoutRuns,
} from "../../domain/alerts/erasure.ts";
import { expiryOf } from "../../domain/alerts/instance.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import type { Work, WorkHandler, WorkTime } from "../../domain/work/work.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import type { Team } from "../../domain/teams/team.ts";
import { keyParts, keys } from "../base/keys.ts";
import { changeFacts } from "../channels/delivery_rows.ts";
import { workKey, workSet } from "../work/store.ts";
import type { ChangeDeps, PlannedRows } from "../team/team_rows.ts";
import { getAll, getMany, getValue, listRows, rowsAfter, type Store } from "../store.ts";
import type { KvSet } from "../writer/group.ts";
import {
  decodeIncident,
  decodeInstance,
  incidentSet,
  instanceSet,
  readIncident,
  readIncidents,
} from "./rows.ts";
import { groupOf } from "../../domain/alerts/signal.ts";
import { readConfig } from "../config/objects.ts";
import { instancesOf, isOfKind } from "./conditions.ts";

/** Creates the handler of due incidents. */
export function createIncidentWork(deps: ChangeDeps): WorkHandler {
  return {
    kind: "incident",
    async handle(rows, turn) {
      for (const row of rows) await handleIncident(deps, row, turn);
      return [];
    },
  };
}

/** Evaluates an incident: its messages first, so that a crash repeats the evaluation. */
async function handleIncident(deps: ChangeDeps, row: Work, turn: WorkTime): Promise<void> {
  const { store, changes } = deps;
  const { team, name: id } = row;
  const incident = await readIncident(store, team, id);
  if (incident !== null) {
    const gone = await goneRuns(store, team, incident);
    const { due } = await expiryIn(store, team, incident, turn.nowMs);
    const isError = due !== null;
    if (gone.size > 0 || isError) {
      await changeFacts(store, team, Object.values(incident.deliveries), (facts) => {
        const without = withoutRuns(facts, (run) => gone.has(run));
        return isError ? withoutError(without) : without;
      });
    }
  }
  await changes.commitPlan(team, "clock", async () => ({
    result: null,
    rows: await rowsOf(store, row, turn.nowMs),
  }));
}

/** Returns the rows of an incident after an evaluation. */
async function rowsOf(store: Store, row: Work, nowMs: number): Promise<PlannedRows> {
  const { team, name: id } = row;
  const incident = await readIncident(store, team, id);
  if (incident === null) return { sets: [], deletes: [workKey(row)] };
  const { due, nextAt } = await expiryIn(store, team, incident, nowMs);
  if (due === "all") {
    const left = await rowsWithout(store, team, incident);
    return { sets: left.sets, deletes: [...left.deletes, workKey(row)] };
  }
  const gone = await goneRuns(store, team, incident);
  const without = incidentWithoutRuns(incident, (run) => gone.has(run));
  const after = due === "error" ? withoutError(without) : without;
  const sets: KvSet[] = [workSet({ at: nextAt, kind: "incident", team, name: id })];
  if (after !== incident) sets.push(incidentSet(team, after));
  const stored = await getValue(store, keys.alert(team, incident.rule, incident.groupText));
  const instance = decodeInstance(stored);
  if (instance !== null && instance.incident === id && gone.size > 0) {
    sets.push(instanceSet(team, instanceWithoutRuns(instance, (run) => gone.has(run))));
  }
  return { sets, deletes: nextAt === row.at ? [] : [workKey(row)] };
}

/** Returns the rows that remove an incident; its messages have their own retention. */
export async function rowsWithout(
  store: Store,
  team: TeamId,
  { id, openedAt, runs }: Incident,
): Promise<PlannedRows> {
  const named = await getAll(store, runs.map((run) => keys.runIncidents(team, run)));
  const sets: KvSet[] = [];
  const deletes: Deno.KvKey[] = [
    keys.incident(team, id),
    keys.incidentAt(team, openedAt, id),
    keys.openIncident(team, id),
  ];
  for (const { key, value } of named) {
    const others = (value as readonly string[] | null)?.filter((other) => other !== id);
    if (others === undefined) continue;
    if (others.length === 0) deletes.push(key);
    else sets.push({ key, value: others });
  }
  return { sets, deletes };
}

/** Returns the runs of an incident that are no longer stored. */
async function goneRuns(
  store: Store,
  team: TeamId,
  incident: Incident,
): Promise<ReadonlySet<RunId>> {
  const runs = runsOfIncident(incident);
  const summaries = await getAll(store, runs.map((run) => keys.summary(team, run)));
  return new Set(runs.filter((_, i) => summaries[i]?.versionstamp === null));
}

async function expiryIn(store: Store, team: TeamId, incident: Incident, nowMs: number) {
  const [stored, clock] = await getMany(store, [keys.team(team), keys.sweepClock()]);
  const plan = planOfTeam((stored?.value ?? UNLIMITED) as Team);
  const judgedMs = Math.min(nowMs, clock?.value as number | null ?? nowMs);
  return expiryOf(incident, plan, nowMs, judgedMs);
}

/** Plan of a team that is not stored. */
const UNLIMITED = { tier: "enterprise" } as const;

/** Open incidents of one commit. */
const INCIDENTS_PER_COMMIT = 100;

/** Creates the handler of due silences. */
export function createSilenceWork(deps: ChangeDeps): WorkHandler {
  return {
    kind: "silence",
    async handle(rows) {
      const [first] = rows;
      if (first === undefined) return [];
      let after: Deno.KvKey | null = null;
      do after = await sendSome(deps, first.team, rows, after); while (after !== null);
      return [];
    },
  };
}

/**
 * Sends what is no longer held back of some open incidents. The last commit removes the rows.
 *
 * @returns the key after which to continue; null at the end
 */
function sendSome(
  { store, changes }: ChangeDeps,
  team: TeamId,
  rows: readonly Work[],
  after: Deno.KvKey | null,
): Promise<Deno.KvKey | null> {
  return changes.commitPlan(team, "clock", async () => {
    const range = rowsAfter(keys.openIncidents(team), after);
    const open = await listRows(store, range, { limit: INCIDENTS_PER_COMMIT });
    const ids = open.map(({ key }) => keyParts.id(key));
    const heldBack = (await readIncidents(store, team, ids)).filter((each) => each.isHeldBack);
    const dueGroups = heldBack.map(({ rule, groupText }) => ({ rule, group: groupText, at: null }));
    const isLast = open.length < INCIDENTS_PER_COMMIT;
    const deletes = isLast ? rows.map(workKey) : [];
    return {
      result: isLast ? null : open.at(-1)?.key ?? null,
      rows: dueGroups.length + deletes.length === 0
        ? null
        : { sets: [], deletes, alerts: { signals: [], dueGroups } },
    };
  });
}

/** Incidents of one step. */
const INCIDENTS_PER_STEP = 100;

/** Progress of an erasure: the last incident that was checked. */
export interface IncidentPosition {
  /** Key of the incident; null for none. */
  readonly after: Deno.KvKey | null;
}

/** The initial position. */
export const FIRST_INCIDENT: IncidentPosition = { after: null };

/**
 * Erases a customer from some incidents of a team; the first step ends those that are open.
 *
 * @returns the position of the next step; null after the last one
 */
export async function eraseCustomer(
  deps: ChangeDeps,
  team: TeamId,
  customer: string,
  { after }: IncidentPosition,
): Promise<IncidentPosition | null> {
  const { store, changes } = deps;
  if (after === null) await endGroups(deps, team, customer);
  const range = rowsAfter(keys.incidents(team), after);
  const rows = await listRows(store, range, { limit: INCIDENTS_PER_STEP });
  const incidents = rows.map(({ value }) => decodeIncident(value));
  for (const before of incidents.filter((each) => each?.group.customer === customer)) {
    if (before === null) continue;
    // A run of the customer may have opened it meanwhile.
    if (before.state !== "resolved") await endGroup(deps, team, before.rule, before.groupText);
    await changeFacts(store, team, Object.values(before.deliveries), withoutCustomer);
    await changes.commitPlan(team, "clock", async () => {
      const incident = await readIncident(store, team, before.id);
      const without = incident === null ? null : await rowsWithout(store, team, incident);
      return { result: null, rows: without };
    });
  }
  const last = rows.at(-1);
  return last === undefined || rows.length < INCIDENTS_PER_STEP ? null : { after: last.key };
}

/** Ends the groups of a customer, each in a commit of its own: it may have many messages. */
async function endGroups(deps: ChangeDeps, team: TeamId, customer: string): Promise<void> {
  const { store } = deps;
  const subject = { agent: null, customer, feature: null, model: null };
  const { text } = groupOf("customer", subject);
  const { rules } = await readConfig(store, team);
  const stored = await getAll(store, rules.map(({ slug }) => keys.alert(team, slug, text)));
  const ofBudgets = rules.filter((rule) => isOfKind(rule, "budget"));
  const marks = await Promise.all(ofBudgets.map((rule) => instancesOf(store, team, rule)));
  const instances = [...stored.map(({ value }) => decodeInstance(value)), ...marks.flat()];
  for (const instance of instances) {
    // Long names may share the text of a group.
    if (instance?.group.customer !== customer) continue;
    await endGroup(deps, team, instance.rule, instance.text);
  }
}

function endGroup(
  { changes }: ChangeDeps,
  team: TeamId,
  rule: string,
  group: string,
): Promise<void> {
  const rows = { sets: [], deletes: [], alerts: { signals: [], ends: { rule, group } } };
  return changes.commitPlan(
    team,
    "clock",
    () => Promise.resolve({ result: undefined, rows }),
  );
}
