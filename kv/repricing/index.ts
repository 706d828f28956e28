/**
 * Finding the runs that a job has to visit: those that called a model, by their start.
 *
 * The index has a row for each run and name, and a model may have any number of names: one for each
 * provider. So the next runs are gathered name by name, some names a step, and visited once the last name
 * is read. A run that called under two of the names is visited once, because its start is the same.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { OTHER_MODELS } from "../../domain/runs/model_usage.ts";
import { RUN_KINDS } from "../../domain/runs/traits.ts";
import type { RepriceSpec } from "../../domain/repricing/reprice.ts";
import type { RepriceJob, RunPosition, RunsRemaining } from "../../domain/repricing/job.ts";
import { keys } from "../base/keys.ts";
import { modelPart, modelPrefix } from "../base/index_parts.ts";
import { listRows, type Store } from "../store.ts";

/** Names read in a step, one after the other: all reads share a thread. */
const NAMES_PER_STEP = 32;

/** Runs gathered before they are visited. They are part of the job, which every step writes. */
const RUNS_AHEAD_MAX = 128;

/** The first instant a run can start at, and the one behind the last, unix milliseconds. */
const FIRST_MS = 0, END_MS = Date.UTC(10_000, 0);

/** Where the name stands in a key of the index. */
const NAME_AT = 3;

/** Sorts a range right behind the key it is appended to. */
const AFTER = 0;

/** Sorts behind every run of an instant. */
const LAST = true;

/** Sorts behind every character. */
const LAST_CHAR = "\u{10FFFF}";

/** A run with too many models adds some of them up under a name for all. It is read last. */
const REST = modelPart({ provider: null, model: OTHER_MODELS });

/** Counts the names of a job that runs are found under; reads one more than `max` at most. */
export async function countNames(
  store: Store,
  team: TeamId,
  spec: RepriceSpec,
  max: number,
): Promise<number> {
  let count = 0;
  let name = await nextName(store, team, spec, null);
  while (name !== null && name !== REST && ++count <= max) {
    name = await nextName(store, team, spec, name);
  }
  return count;
}

/** Reads starts of the first and the last run of a job's time; null when there is none. */
export async function indexSpanOf(
  store: Store,
  team: TeamId,
  { from, to }: RepriceSpec,
): Promise<RepriceJob["span"] | null> {
  const starts: number[] = [];
  for (const kind of RUN_KINDS) {
    const prefix = keys.runsBy(team, "kind", kind);
    const range = { start: [...prefix, from ?? FIRST_MS], end: [...prefix, to ?? END_MS] };
    for (const reverse of [false, true]) {
      const ends = await readPlaces(store, range, { limit: 1, reverse });
      starts.push(...ends.map(({ startedAt }) => startedAt));
    }
  }
  return starts.length === 0 ? null : { from: Math.min(...starts), to: Math.max(...starts) };
}

/** Gathers the runs that are next, over some more names; begins with the first name after null. */
export async function gatherRuns(
  store: Store,
  team: TeamId,
  { spec, span, cursor: { after } }: RepriceJob,
  before: RunsRemaining | null,
): Promise<RunsRemaining> {
  let { name, runs } = before ?? { name: null, runs: [] };
  for (let names = 0; names < NAMES_PER_STEP; names++) {
    name = await nextName(store, team, spec, name);
    if (name === null) {
      return { name, runs, isComplete: true, isLast: runs.length < RUNS_AHEAD_MAX };
    }
    const prefix = keys.runsBy(team, "model", name);
    const start = after === null
      ? [...prefix, span.from]
      : [...prefix, after.startedAt, after.run, AFTER];
    const range = { start, end: [...prefix, span.to, LAST] };
    runs = merge(runs, await readPlaces(store, range, { limit: RUNS_AHEAD_MAX }));
  }
  return { name, runs, isComplete: false, isLast: false };
}

/** Reads the name behind another; null behind the last. */
async function nextName(
  store: Store,
  team: TeamId,
  { model, provider }: RepriceSpec,
  name: string | null,
): Promise<string | null> {
  if (name === REST) return null;
  if (provider !== null) return name === null ? modelPart({ provider, model }) : REST;
  const prefix = modelPrefix(model);
  const from = name === null ? prefix : `${name}\0`;
  const range = keys.runsOfNames(team, "model", from, prefix + LAST_CHAR);
  const [row] = await listRows(store, range, { limit: 1 });
  return row === undefined ? REST : String(row.key[NAME_AT]);
}

async function readPlaces(
  store: Store,
  range: { readonly start: Deno.KvKey; readonly end: Deno.KvKey },
  options: Pick<Deno.KvListOptions, "limit" | "reverse">,
): Promise<RunPosition[]> {
  const rows = await listRows(store, range, options);
  return rows.map(({ key }) => ({ startedAt: Number(key.at(-2)), run: key.at(-1) as RunId }));
}

/** The first of all these runs, each once. */
function merge(
  some: readonly RunPosition[],
  others: readonly RunPosition[],
): readonly RunPosition[] {
  if (others.length === 0) return some;
  const all = new Map([...some, ...others].sort(byPlace).map((place) => [place.run, place]));
  return [...all.values()].slice(0, RUNS_AHEAD_MAX);
}

/** The order of the index. */
function byPlace(a: RunPosition, b: RunPosition): number {
  return a.startedAt - b.startedAt || (a.run < b.run ? -1 : 1);
}
