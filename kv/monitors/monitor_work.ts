/**
 * Evaluates monitors whose deadline has come, as the work loop asks for (decision 109).
 *
 * @module
 */
import type { AgentActivity } from "../../domain/agents/agents.ts";
import { judgedAt, type Work, type WorkHandler, type WorkTime } from "../../domain/work/work.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Outcome } from "../../domain/outcomes/window.ts";
import {
  addOutcomes,
  evaluateMonitor,
  type Monitor,
  type MonitorChange,
  nextDueAt,
  runOutcome,
} from "../../domain/monitors/monitor.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeMonitor } from "../base/codec_monitors.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { groupsOf } from "../base/reads.ts";
import {
  agentPart,
  comparePositions,
  EntryReader,
  type Position,
  type StoredEntry,
} from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import { andThen, dueKeyOf, type MonitorRows, type MonitorWrite, rowsOfChanges } from "./rows.ts";
import type { ChangeDeps } from "../team/team_rows.ts";

/** Monitors of one commit. Those with long names, or that open incidents, may need two or more. */
const MONITORS_PER_COMMIT = 100;

/** Creates the handler of due monitors. */
export function createMonitorWork(deps: ChangeDeps): WorkHandler {
  return {
    kind: "monitor",
    async handle(rows, turn) {
      for (const group of groupsOf(rows, MONITORS_PER_COMMIT)) {
        await evaluateSome(deps, group, turn);
      }
      // An evaluation that throws is tried again for fewer rows.
      return [];
    },
  };
}

/** Evaluates monitors of one team: in one commit, or in two if it would be too large. */
async function evaluateSome(
  deps: ChangeDeps,
  rows: readonly Work[],
  turn: WorkTime,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const { team } = first;
  const isDone = await deps.changes.commitPlan(team, "clock", async () => {
    const planned = await planChanges(deps, team, rows, turn);
    return { result: true, rows: planned, ...rows.length > 1 ? { tooLarge: false } : {} };
  });
  if (isDone) return;
  const middle = rows.length >> 1;
  await evaluateSome(deps, rows.slice(0, middle), turn);
  await evaluateSome(deps, rows.slice(middle), turn);
}

/** Evaluates monitors of one team, and returns the rows to write. */
async function planChanges(
  deps: ChangeDeps,
  team: TeamId,
  rows: readonly Work[],
  turn: WorkTime,
): Promise<MonitorRows> {
  const { store } = deps;
  const stored = await getAll(store, rows.map(({ name }) => keys.monitor(team, name)));
  const monitors = stored.map(({ value }) => decodeMonitor(value));
  const running = await runningRuns(store, team, monitors);
  const changed: MonitorWrite[] = [];
  const leftOver: Deno.KvKey[] = [];
  for (const [i, { at, name }] of rows.entries()) {
    const before = monitors[i] ?? null;
    // The work loop postponed it, or the monitor was deleted: the evaluation of it is this one.
    if (at !== before?.dueAt) leftOver.push(dueKeyOf(team, name, at));
    if (before === null) continue;
    const open = running.get(name) ?? 0;
    changed.push({ ...await changeOf(deps, team, before, open, turn), before });
  }
  const written = await rowsOfChanges(store, team, changed);
  return { ...written, deletes: [...leftOver, ...written.deletes] };
}

/** Returns the numbers of open runs of agents whose runs have a maximum duration. */
async function runningRuns(
  store: Store,
  team: TeamId,
  monitors: readonly (Monitor | null)[],
): Promise<ReadonlyMap<string, number>> {
  const limited = monitors.flatMap((monitor) =>
    monitor === null || monitor.settings.maxRuntimeSeconds === null ? [] : [monitor.agent]
  );
  const stored = await getAll(store, limited.map((agent) => keys.agentActivity(team, agent)));
  return new Map(
    limited.map((agent, i) => [agent, (stored[i]?.value as AgentActivity | null)?.running ?? 0]),
  );
}

/** Evaluates a monitor: finds runs that last too long, then judges its deadlines. */
async function changeOf(
  deps: ChangeDeps,
  team: TeamId,
  before: Monitor,
  running: number,
  turn: WorkTime,
): Promise<MonitorChange> {
  const { outcomes, passed } = running === 0
    ? { outcomes: [], passed: before.overrunsAfter }
    : await overrunsOf(deps, team, before, turn);
  const counted = outcomes.length === 0
    ? { monitor: before, flips: [] }
    : addOutcomes(before, outcomes, deps.store.cronSlots);
  const { monitor, flips } = andThen(counted, (monitor) => evaluateMonitor(monitor, turn));
  // The work loop takes a row once all calls before it are summarized, so it may be due already.
  const dueAt = nextDueAt(monitor, turn.summarizedToMs, running);
  return { monitor: { ...monitor, dueAt, overrunsAfter: passed }, flips };
}

/** Finds open runs that last too long and are not counted yet. */
async function overrunsOf(
  { store }: ChangeDeps,
  team: TeamId,
  monitor: Monitor,
  { nowMs, summarizedToMs, absences }: WorkTime,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly passed: Position | null }> {
  const { agent, settings: { maxRuntimeSeconds, graceSeconds }, state } = monitor;
  let passed = monitor.overrunsAfter;
  if (maxRuntimeSeconds === null || state === "paused") return { outcomes: [], passed };
  const limitMs = maxRuntimeSeconds * 1_000;
  const open = await findOpenRuns(store, team, agent, passed, summarizedToMs - limitMs);
  const stored = await getAll(store, open.runs.map(({ run }) => keys.summary(team, run)));
  const outcomes: Outcome[] = [];
  let isWaiting = false;
  for (const [i, position] of open.runs.entries()) {
    const value = stored[i]?.value;
    const summary = value instanceof Uint8Array ? decodeSums<RunSummary>(value) : null;
    const at = (summary?.shown.openedAt ?? 0) + limitMs;
    if (summary?.contribution?.labels.status === "running") {
      const isDue = at <= summarizedToMs && judgedAt(at, graceSeconds * 1_000, absences) <= nowMs;
      if (isDue) outcomes.push(runOutcome("overrun", position.run, at));
      // A run whose opening arrived later than its start is found again, with those after it.
      else isWaiting = true;
    }
    if (!isWaiting) passed = { at: position.at, run: position.run };
  }
  return { outcomes, passed: isWaiting ? passed : open.passed };
}

/** Index entries of one read, and maximum rows of one search. */
const ROWS = { perRead: 16, max: 1_000 } as const;

/**
 * Finds open runs of an agent by their start. It reads a bounded number of rows, so it may end early.
 *
 * @param after position after which to begin; null for the oldest run
 * @param toMs latest start, unix milliseconds
 * @returns the runs in order, and the position up to which all were found
 */
async function findOpenRuns(
  store: Store,
  team: TeamId,
  agent: string,
  after: Position | null,
  toMs: number,
) {
  const end = { at: toMs + 1, run: "" };
  const ofAgent = new Cursor(store, keys.runsBy(team, "agent", agentPart(agent)), end);
  const open = new Cursor(store, keys.runsBy(team, "status", "running"), end);
  const runs: StoredEntry[] = [];
  let from = after === null ? { at: 0, run: "" } : following(after);
  while (ofAgent.rows + open.rows < ROWS.max) {
    const [a, b] = [await ofAgent.seek(from), await open.seek(from)];
    if (a === null || b === null) return { runs, passed: runs.at(-1) ?? after };
    const order = comparePositions(a, b);
    if (order === 0) runs.push(a);
    from = order === 0 ? following(a) : order < 0 ? b : a;
  }
  return { runs, passed: from };
}

/** Returns the position directly after one. */
function following({ at, run }: Position): Position {
  return { at, run: `${run}\0` };
}

/** Visits the entries of an order, oldest first. */
class Cursor {
  /** Rows read so far. */
  rows = 0;
  readonly #reader: EntryReader;
  #entries: readonly StoredEntry[] = [];
  #at = 0;
  #isEnd = false;

  constructor(store: Store, order: Deno.KvKey, end: Position) {
    this.#reader = new EntryReader(store, order, { end, reverse: false });
  }

  /** Returns the first entry at a position or after it; null at the end. */
  async seek(position: Position): Promise<StoredEntry | null> {
    while (true) {
      for (; this.#at < this.#entries.length; this.#at++) {
        const entry = this.#entries[this.#at] as StoredEntry;
        if (comparePositions(entry, position) >= 0) return entry;
      }
      if (this.#isEnd) return null;
      await this.#read({ at: position.at, run: "" });
    }
  }

  async #read(after: Position): Promise<void> {
    const last = this.#entries.at(-1);
    const from = last !== undefined && comparePositions(last, after) > 0 ? last : after;
    const page = await this.#reader.read(from, ROWS.perRead);
    this.rows += Math.max(1, page.rows);
    this.#entries = page.entries;
    this.#isEnd = page.entries.length < ROWS.perRead;
    this.#at = 0;
  }
}
