/**
 * Finds the runs that a repricing job visits: all runs that called a model, by start.
 *
 * The index has an entry for each run and model name, and a model has one name for each provider. So
 * the next runs are gathered name by name, some names per step, and visited after the last name is
 * read. A run that called the model under two names is visited once, because its start is the same.
 *
 * @module
 */
import { OTHER_MODELS } from "../../domain/runs/model_usage.ts";
import { RUN_KINDS } from "../../domain/runs/cost.ts";
import type { RepriceSpec } from "../../domain/repricing/reprice.ts";
import type {
  RepriceJob,
  RepricePosition,
  RunsRemaining,
} from "../../domain/repricing/reprice_job.ts";
import { modelPart, type Position, readEntries } from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import type { TeamRef } from "../runs/heads.ts";
import { nextModelPart } from "../run_list/run_list.ts";

/** Names read in one step, in sequence: all reads share a thread. */
const NAMES_PER_STEP = 16;

/** Maximum runs gathered ahead. They are part of the job, which every step writes. */
const RUNS_AHEAD_MAX = 128;

/** Earliest start of a run, and the instant after the latest one, unix milliseconds. */
const FIRST_MS = 0, END_MS = Date.UTC(10_000, 0);

/** Name of the group of further models in a run with too many models. It is read last. */
const REST = modelPart({ provider: null, model: OTHER_MODELS });

/** Counts the index names of a job; reads at most one more than `max`. */
export async function countNames(at: TeamRef, spec: RepriceSpec, max: number): Promise<number> {
  let count = 0;
  let name = await nextName(at, spec, null);
  while (name !== null && name !== REST && ++count <= max) {
    name = await nextName(at, spec, name);
  }
  return count;
}

/** Reads the starts of the first and the last run in a job's period; null when there is none. */
export async function indexSpanOf(
  { store, team }: TeamRef,
  { from, to }: RepriceSpec,
): Promise<RepriceJob["span"] | null> {
  const range = { after: firstAt(from ?? FIRST_MS), before: firstAt(to ?? END_MS) };
  const starts: number[] = [];
  for (const kind of RUN_KINDS) {
    for (const reverse of [false, true]) {
      const order = keys.runsBy(team, "kind", kind);
      const { entries } = await readEntries(store, order, range, { limit: 1, reverse });
      starts.push(...entries.map(({ at }) => at));
    }
  }
  return starts.length === 0 ? null : { from: Math.min(...starts), to: Math.max(...starts) };
}

/** Gathers the next runs from some more names; a null name begins with the first. */
export async function gatherRuns(
  at: TeamRef,
  { spec, span, cursor: { after } }: RepriceJob,
  before: RunsRemaining | null,
): Promise<RunsRemaining> {
  let { name, runs } = before ?? { name: null, runs: [] };
  for (let names = 0; names < NAMES_PER_STEP; names++) {
    name = await nextName(at, spec, name);
    if (name === null) {
      return { name, runs, isComplete: true, isLast: runs.length < RUNS_AHEAD_MAX };
    }
    const range = {
      after: after === null ? firstAt(span.from) : { at: after.startedAt, run: after.run },
      before: firstAt(span.to + 1),
    };
    const order = keys.runsBy(at.team, "model", name);
    const { entries } = await readEntries(at.store, order, range, { limit: RUNS_AHEAD_MAX });
    runs = merge(runs, entries.map(({ at, run }) => ({ startedAt: at, run })));
  }
  return { name, runs, isComplete: false, isLast: false };
}

/** Reads the next name; null after the last. */
async function nextName(
  at: TeamRef,
  { model, provider }: RepriceSpec,
  name: string | null,
): Promise<string | null> {
  if (name === REST) return null;
  if (provider !== null) return name === null ? modelPart({ provider, model }) : REST;
  return await nextModelPart(at, model, name) ?? REST;
}

/** Returns the position before all runs of an instant. */
function firstAt(at: number): Position {
  return { at, run: "" };
}

/** Merges two lists of runs, each run once, and keeps the first ones. */
function merge(
  gathered: readonly RepricePosition[],
  added: readonly RepricePosition[],
): readonly RepricePosition[] {
  if (added.length === 0) return gathered;
  const all = new Map(
    [...gathered, ...added].sort(byPosition).map((position) => [position.run, position]),
  );
  return [...all.values()].slice(0, RUNS_AHEAD_MAX);
}

/** Compares two runs in index order. */
function byPosition(a: RepricePosition, b: RepricePosition): number {
  return a.startedAt - b.startedAt || (a.run < b.run ? -1 : 1);
}
