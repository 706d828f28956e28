/**
 * Looks at monitors whose deadline has come, as the clock asks for (decision 109).
 *
 * @module
 */
import { type ClockTurn, type DueHandler, type DueRow, judgedAt } from "../../domain/clock/due.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  addSignals,
  lookAt,
  type Monitor,
  type MonitorChange,
  nextDueAt,
  type Signal,
} from "../../domain/monitors/monitor.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { groupsOf } from "../base/groups.ts";
import type { Position } from "../base/entries.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import { andThen, dueKeyOf, type MonitorChanges, readAgents, rowsOfChanges } from "./rows.ts";

/** Dependencies of the looks at monitors. */
export interface MonitorLookDeps {
  readonly store: Store;
  readonly changes: MonitorChanges;
  /** Finds open runs of an agent by their start, oldest first; see `open_runs.ts`. */
  readonly findOpenRuns: (
    team: TeamId,
    agent: string,
    after: Position | null,
    toMs: number,
  ) => Promise<{ readonly runs: readonly RunAt[]; readonly passed: Position | null }>;
}

/** A run with its position in the index. */
type RunAt = { readonly at: number; readonly run: Signal["run"] };

/** Monitors of one commit: with the longest names they fit. */
const MONITORS_PER_COMMIT = 50;

/** Milliseconds after which a monitor is looked at again whose deadline cannot be judged yet. */
const AGAIN_MS = 1_000;

/** Creates the handler of due monitors. */
export function createMonitorLooks(deps: MonitorLookDeps): DueHandler {
  return {
    kind: "monitor",
    async look(rows, turn) {
      for (const group of groupsOf(rows, MONITORS_PER_COMMIT)) await lookAtSome(deps, group, turn);
      // A look that throws is tried again for fewer rows.
      return [];
    },
  };
}

/** Looks at monitors of one team, in one commit. */
function lookAtSome(
  deps: MonitorLookDeps,
  rows: readonly DueRow[],
  turn: ClockTurn,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return Promise.resolve();
  const { store, changes } = deps;
  const { team } = first;
  return changes.changeMonitors(team, async () => {
    const agents = await readAgents(store, team, rows.map(({ name }) => name));
    const changed: (MonitorChange & { readonly before: Monitor })[] = [];
    const deletes: Deno.KvKey[] = [];
    for (const [i, { monitor: before, running }] of agents.entries()) {
      const { at, name } = rows[i] as DueRow;
      const change = before && { ...await look(deps, team, before, running, turn), before };
      if (change !== null) changed.push(change);
      // A row that is not the monitor's own is left over: the look at it is this one.
      if (at !== change?.monitor.dueAt) deletes.push(dueKeyOf(team, name, at));
    }
    const written = await rowsOfChanges(store, team, changed);
    return { result: undefined, rows: { ...written, deletes: [...deletes, ...written.deletes] } };
  });
}

/** Looks at a monitor: finds runs that last too long, then judges its deadlines. */
async function look(
  deps: MonitorLookDeps,
  team: TeamId,
  before: Monitor,
  running: number,
  turn: ClockTurn,
): Promise<MonitorChange> {
  const { signals, passed } = running === 0
    ? { signals: [], passed: before.overrunsAfter }
    : await overrunsOf(deps, team, before, turn);
  const counted = signals.length === 0
    ? { monitor: before, flips: [] }
    : addSignals(before, signals);
  const { monitor, flips } = andThen(counted, (monitor) => lookAt(monitor, turn));
  const next = nextDueAt(monitor, turn.nowMs, running);
  const { summarizedToMs } = turn;
  const dueAt = next === null || next > summarizedToMs ? next : summarizedToMs + AGAIN_MS;
  return { monitor: { ...monitor, dueAt, overrunsAfter: passed ?? null }, flips };
}

/** Finds open runs that last too long and are not counted yet. */
async function overrunsOf(
  { store, findOpenRuns }: MonitorLookDeps,
  team: TeamId,
  monitor: Monitor,
  { nowMs, summarizedToMs, absences }: ClockTurn,
): Promise<{ readonly signals: readonly Signal[]; readonly passed: Position | null }> {
  const { agent, settings: { maxRuntimeSeconds, graceSeconds }, state } = monitor;
  let passed = monitor.overrunsAfter ?? null;
  if (maxRuntimeSeconds === null || state === "paused") return { signals: [], passed };
  const limitMs = maxRuntimeSeconds * 1_000;
  const open = await findOpenRuns(team, agent, passed, summarizedToMs - limitMs);
  const stored = await getAll(store, open.runs.map(({ run }) => keys.summary(team, run)));
  const signals: Signal[] = [];
  for (const [i, position] of open.runs.entries()) {
    const value = stored[i]?.value;
    const summary = value instanceof Uint8Array ? decodeSums<RunSummary>(value) : null;
    const at = (summary?.shown.openedAt ?? 0) + limitMs;
    if (summary?.contribution?.labels.status === "running") {
      const isDue = at <= summarizedToMs && judgedAt(at, graceSeconds * 1_000, absences) <= nowMs;
      // A run whose opening arrived later than its start is found again.
      if (!isDue) return { signals, passed };
      signals.push({ at, run: position.run, outcome: "overrun" });
    }
    passed = { at: position.at, run: position.run };
  }
  return { signals, passed: open.passed };
}
