/**
 * Outcomes of an agent's runs: those of changed runs count in the commit of the runs, and the latest
 * ones are read for a new monitor and for a proposal.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  addOutcomes,
  type Monitor,
  type MonitorChange,
  nextDueAt,
  outcomeOf,
} from "../../domain/monitors/monitor.ts";
import type { Outcome } from "../../domain/outcomes/window.ts";
import type { CronSlots } from "../../domain/monitors/schedule.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { AgentRow } from "../agents/agents.ts";
import {
  agentPart,
  comparePositions,
  type EntryPage,
  EntryReader,
  type Position,
} from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import { type MonitorRows, type MonitorWrite, NO_ROWS, rowsOfChanges } from "./rows.ts";
import { decodeSums } from "../base/codec_sums.ts";

/** A changed run. */
export interface ChangedRun {
  readonly run: { readonly id: RunId };
  readonly before: RunSummary | null;
  /** Null for a removed run, which changes no monitor. */
  readonly after: RunSummary | null;
}

/** Returns the rows of the monitors that changed runs change. */
export async function outcomeRows(
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

/** Calls about an agent's runs that arrived. */
interface Arrivals {
  readonly outcomes: readonly Outcome[];
  /** Latest arrival, unix milliseconds; 0 for none. */
  readonly atMs: number;
  /** Positions in the index of runs that were opened. */
  readonly opened: readonly Position[];
}

function arrivalsOf(agent: string, runs: readonly ChangedRun[]): Arrivals {
  const outcomes: Outcome[] = [];
  const opened: Position[] = [];
  let atMs = 0;
  for (const { run: { id }, before, after } of runs) {
    if (after === null || after.contribution?.labels.agent !== agent) continue;
    const outcome = outcomeOf(before, after, id);
    if (outcome !== null) outcomes.push(outcome);
    if (isOpen(after) && !isOpen(before)) opened.push({ at: after.listed.at, run: id });
    atMs = Math.max(atMs, after.times?.receivedAt ?? 0);
  }
  return { outcomes, atMs, opened };
}

function isOpen(summary: RunSummary | null): boolean {
  return summary?.contribution?.labels.status === "running";
}

/** Returns the change of a monitor; null if nothing is to be stored. */
function changeOf(
  before: Monitor,
  { outcomes, atMs, opened }: Arrivals,
  running: number,
  slots: CronSlots,
): MonitorChange | null {
  const { monitor, flips } = outcomes.length === 0
    ? { monitor: before, flips: [] }
    : addOutcomes(before, outcomes, slots);
  const passed = before.overrunsAfter;
  const overrunsAfter = opened.reduce(beforeRun, passed);
  const next = nextDueAt(monitor, atMs, running);
  // A later deadline moves no row: the evaluation of the earlier row files it (decision 109).
  const { dueAt: filed } = before;
  const dueAt = filed === null || (next !== null && next < filed) ? next : filed;
  if (outcomes.length === 0 && dueAt === filed && overrunsAfter === passed) return null;
  return { monitor: { ...monitor, dueAt, overrunsAfter }, flips };
}

/** Returns the position up to which overruns are found, but one before a run that was opened. */
function beforeRun(passed: Position | null, opened: Position): Position | null {
  if (passed === null || comparePositions(opened, passed) > 0) return passed;
  return { at: opened.at, run: "" };
}

/** Outcomes that are wanted, because 20 gaps need 21 arrivals. */
const LATEST_MAX = 21;

/** Latest runs by start that are read: at once, and at most if they are open or cancelled. */
const RUNS = { perRead: LATEST_MAX, max: 20 * LATEST_MAX } as const;

/** An outcome of an agent's run. */
export interface LatestOutcome {
  readonly outcome: Outcome;
  /**
   * End by the client's clock, its arrival at the latest, unix milliseconds. Runs that were imported
   * arrived together, and ended in their rhythm.
   */
  readonly endedAt: number;
}

/** Returns the agent's latest outcomes, in the order of their arrivals. */
export async function latestOutcomes(
  store: Store,
  team: TeamId,
  agent: string,
): Promise<readonly LatestOutcome[]> {
  const order = keys.runsBy(team, "agent", agentPart(agent));
  const reader = new EntryReader(store, order, { end: null, reverse: true });
  const outcomes: LatestOutcome[] = [];
  let last: Position | null = null;
  for (let runs = 0; runs < RUNS.max && outcomes.length < LATEST_MAX; runs += RUNS.perRead) {
    const { entries }: EntryPage = await reader.read(last, RUNS.perRead);
    const stored = await getAll(store, entries.map(({ run }) => keys.summary(team, run)));
    for (const [i, { run }] of entries.entries()) {
      const value = stored[i]?.value;
      if (!(value instanceof Uint8Array)) continue;
      const summary = decodeSums<RunSummary>(value);
      const outcome = outcomeOf(null, summary, run);
      if (outcome === null) continue;
      const { at } = outcome;
      outcomes.push({ outcome, endedAt: Math.min(summary.shown.finishedAt ?? at, at) });
    }
    last = entries.at(-1) ?? null;
    if (entries.length < RUNS.perRead) break;
  }
  return outcomes.slice(0, LATEST_MAX).sort((a, b) => a.outcome.at - b.outcome.at);
}
