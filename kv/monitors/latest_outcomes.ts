/**
 * Reads the latest outcomes of an agent's runs, for a new monitor and for a proposal.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { type Signal, signalOf } from "../../domain/monitors/monitor.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { agentPart } from "../base/index_parts.ts";
import { keys } from "../base/keys.ts";
import { ALL_ENTRIES, listEntries } from "../entries.ts";
import { getAll, type Store } from "../store.ts";

/** Latest runs by start that are read; 20 gaps need 21 arrivals. */
const RUNS_MAX = 21;

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

/** Returns outcomes of the agent's latest runs, in the order of their arrivals. */
export async function latestOutcomes(
  store: Store,
  team: TeamId,
  agent: string,
): Promise<readonly LatestOutcome[]> {
  const order = keys.runsBy(team, "agent", agentPart(agent));
  const options = { limit: RUNS_MAX, reverse: true };
  const { entries } = await listEntries(store, order, ALL_ENTRIES, options);
  const stored = await getAll(store, entries.map(({ run }) => keys.summary(team, run)));
  return entries.flatMap(({ run }, i) => {
    const value = stored[i]?.value;
    if (!(value instanceof Uint8Array)) return [];
    const summary = decodeSums<RunSummary>(value);
    const signal = signalOf(null, summary, run);
    const { finishedAt } = summary.shown;
    return signal === null
      ? []
      : [{ signal, endedAt: Math.min(finishedAt ?? signal.at, signal.at) }];
  }).sort((a, b) => a.signal.at - b.signal.at);
}
