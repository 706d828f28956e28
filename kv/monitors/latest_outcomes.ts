/**
 * Reads the latest outcomes of an agent's runs, for a new monitor and for a proposal.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { type Signal, signalOf } from "../../domain/monitors/monitor.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeSums } from "../base/codec_sums.ts";
import type { Position } from "../base/entries.ts";
import { agentPart } from "../base/index_parts.ts";
import { keys } from "../base/keys.ts";
import { type EntryPage, EntryReader } from "../entry_reader.ts";
import { getAll, type Store } from "../store.ts";

/** Outcomes that are wanted, because 20 gaps need 21 arrivals. */
const OUTCOMES_MAX = 21;

/** Latest runs by start that are read: at once, and at most if they are open or cancelled. */
const RUNS = { perRead: OUTCOMES_MAX, max: 20 * OUTCOMES_MAX } as const;

/** Outcome of a run. */
export interface LatestOutcome {
  /** The outcome as a monitor counts it. */
  readonly signal: Signal;
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
  for (let runs = 0; runs < RUNS.max && outcomes.length < OUTCOMES_MAX; runs += RUNS.perRead) {
    const { entries }: EntryPage = await reader.read(last, RUNS.perRead);
    outcomes.push(...await outcomesOf(store, team, entries.map(({ run }) => run)));
    last = entries.at(-1) ?? null;
    if (entries.length < RUNS.perRead) break;
  }
  return outcomes.slice(0, OUTCOMES_MAX).sort((a, b) => a.signal.at - b.signal.at);
}

async function outcomesOf(
  store: Store,
  team: TeamId,
  runs: readonly RunId[],
): Promise<LatestOutcome[]> {
  const stored = await getAll(store, runs.map((run) => keys.summary(team, run)));
  return runs.flatMap((run, i) => {
    const value = stored[i]?.value;
    if (!(value instanceof Uint8Array)) return [];
    const summary = decodeSums<RunSummary>(value);
    const signal = signalOf(null, summary, run);
    const { finishedAt } = summary.shown;
    return signal === null
      ? []
      : [{ signal, endedAt: Math.min(finishedAt ?? signal.at, signal.at) }];
  });
}
