/**
 * Reads the rows that decisions about alerts need. Instances are cached with other rows of their
 * team, so a good run of a team without instances costs no read.
 *
 * @module
 */
import { type AlertRows, decideAlerts, type LackingRows } from "../../domain/alerts/decide.ts";
import type { Incident, StampSource } from "../../domain/alerts/incident.ts";
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import type { AlertSignal, AlertWork } from "../../domain/alerts/signal.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import type { TeamRows } from "../team/rows.ts";
import { earlierOutcomes } from "./earlier_outcomes.ts";
import { type AlertSets, changeRows, countsRow, decodeIncident, instanceRow } from "./rows.ts";
import { TEXT_CHARS_MAX } from "../../domain/channels/forms/words.ts";
import { cutText, printable } from "../../domain/core/text.ts";
import { errorOf } from "../../domain/runs/run.ts";
import { readHeads } from "../runs/heads.ts";
import { withTexts } from "../runs/texts.ts";
import { DAY_MS, dayOf } from "../../domain/core/time.ts";
import type { ModelName } from "../../domain/runs/model_usage.ts";
import { keyPart } from "../index/entries.ts";
import { decodeRollup } from "../spend/rollups.ts";
import type { AlertConfig } from "../../domain/alerts/touched.ts";

/** Rows of a decision that grow until it lacks none. */
export interface GrowingRows {
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
 */
export async function readLacking(
  store: Store,
  team: TeamId,
  cached: TeamRows,
  rows: GrowingRows,
  lacking: LackingRows,
  changing: ReadonlySet<RunId>,
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
    rows.earlier.set(name, await earlierOutcomes(store, team, group, changing));
  }
  for (const [name, signals] of lacking.unpriced) {
    rows.unpriced.set(name, await wereUnpriced(store, team, signals));
  }
  for (const run of lacking.errors) rows.errors.set(run, await readError(store, team, run));
}

/** Reads the first 200 characters of a run's error; null if it has none. */
async function readError(store: Store, team: TeamId, id: RunId): Promise<string | null> {
  const [run] = await readHeads({ store, team }, [id]);
  const error = run === undefined ? null : errorOf((await withTexts(run)).head.parts);
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
  known: Pick<AlertRows, "seenBefore"> | null = null,
): Promise<AlertPlan> {
  const { signals, looks = [], byHand, ends } = work;
  const isNothing = looks.length === 0 && byHand === undefined && ends === undefined;
  if (signals.length === 0 && isNothing) return NO_ALERTS;
  const changing = new Set(signals.flatMap(({ run }) => run === null ? [] : [run]));
  const counts = await cached.get(countsRow(team)) ?? {};
  const rows = {
    ...{ config, counts, seenBefore: known?.seenBefore, instances: new Map() },
    ...{ incidents: new Map(), earlier: new Map(), unpriced: new Map(), errors: new Map() },
  };
  const stamp = stamps();
  for (;;) {
    const { change, lacking } = decideAlerts(rows, work, stamp.begin());
    if (change === null) {
      await readLacking(store, team, cached, rows, lacking, changing);
      continue;
    }
    const runs = [...change.incidentsOfRuns.keys()];
    const named = await getAll(store, runs.map((run) => keys.runIncidents(team, run)));
    return { ...changeRows(team, counts, change, named), counted: change.counted };
  }
}
