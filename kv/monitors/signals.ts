/**
 * Adds the outcomes of changed runs to the monitors of their agents, in the commit of the runs.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  addSignals,
  type Monitor,
  type MonitorChange,
  nextDueAt,
  type Signal,
  signalOf,
} from "../../domain/monitors/monitor.ts";
import type { CronSlots } from "../../domain/monitors/schedule.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { AgentRow } from "../agents/agents.ts";
import { comparePositions, type Position } from "../base/entries.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import { type MonitorRows, type MonitorWrite, NO_ROWS, rowsOfChanges } from "./rows.ts";

/** A changed run. */
export interface ChangedRun {
  readonly run: { readonly id: RunId };
  readonly before: RunSummary | null;
  /** Null for a removed run, which changes no monitor. */
  readonly after: RunSummary | null;
}

/** Returns the rows of the monitors that changed runs change. */
export async function signalRows(
  store: Store,
  team: TeamId,
  agents: ReadonlyMap<string, AgentRow>,
  runs: readonly ChangedRun[],
): Promise<MonitorRows> {
  const changes: MonitorWrite[] = [];
  for (const [slug, { monitor, activity }] of agents) {
    if (monitor === null) continue;
    const arrivals = arrivalsOf(slug, runs);
    const change = changeOf(monitor, arrivals, activity?.running ?? 0, store.cronSlots);
    if (change !== null) changes.push({ ...change, before: monitor });
  }
  if (changes.length === 0) return NO_ROWS;
  return await rowsOfChanges(store, team, await withoutArchived(store, team, changes));
}

/** Drops changes that resume monitors of archived agents, as their open runs do when they end. */
async function withoutArchived(
  store: Store,
  team: TeamId,
  changes: readonly MonitorWrite[],
): Promise<readonly MonitorWrite[]> {
  const resumes = ({ before, monitor }: MonitorWrite) =>
    before?.state === "paused" && monitor.state !== "paused";
  const resumed = changes.filter(resumes).map(({ monitor }) => monitor.agent);
  if (resumed.length === 0) return changes;
  const archived = await getAll(store, resumed.map((agent) => keys.archivedAgent(team, agent)));
  const paused = new Set(resumed.filter((_, i) => archived[i]?.versionstamp !== null));
  return changes.filter(({ monitor }) => !paused.has(monitor.agent));
}

/** Outcomes of an agent's runs that arrived. */
interface Arrivals {
  readonly signals: readonly Signal[];
  /** Latest arrival, unix milliseconds; 0 for none. */
  readonly atMs: number;
  /** Positions in the index of runs that were opened. */
  readonly opened: readonly Position[];
}

function arrivalsOf(agent: string, runs: readonly ChangedRun[]): Arrivals {
  const signals: Signal[] = [];
  const opened: Position[] = [];
  let atMs = 0;
  for (const { run: { id }, before, after } of runs) {
    if (after === null || after.contribution?.labels.agent !== agent) continue;
    const signal = signalOf(before, after, id);
    if (signal !== null) signals.push(signal);
    if (isOpen(after) && !isOpen(before)) opened.push({ at: after.listed.at, run: id });
    atMs = Math.max(atMs, after.times?.receivedAt ?? 0);
  }
  return { signals, atMs, opened };
}

function isOpen(summary: RunSummary | null): boolean {
  return summary?.contribution?.labels.status === "running";
}

/** Returns the change of a monitor; null if nothing is to be stored. */
function changeOf(
  before: Monitor,
  { signals, atMs, opened }: Arrivals,
  running: number,
  slots: CronSlots,
): MonitorChange | null {
  const { monitor, flips } = signals.length === 0
    ? { monitor: before, flips: [] }
    : addSignals(before, signals, slots);
  const passed = before.overrunsAfter;
  const overrunsAfter = opened.reduce(beforeRun, passed);
  const next = nextDueAt(monitor, atMs, running);
  // A later deadline moves no row: the look at the earlier row files it (decision 109).
  const { dueAt: filed } = before;
  const dueAt = filed === null || (next !== null && next < filed) ? next : filed;
  if (signals.length === 0 && dueAt === filed && overrunsAfter === passed) return null;
  return { monitor: { ...monitor, dueAt, overrunsAfter }, flips };
}

/** Returns the position up to which overruns are found, but one before a run that was opened. */
function beforeRun(passed: Position | null, opened: Position): Position | null {
  if (passed === null || comparePositions(opened, passed) > 0) return passed;
  return { at: opened.at, run: "" };
}
