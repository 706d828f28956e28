/**
 * Results of checks within a commit of changed runs: their rows, what summaries say of them, and the
 * differences to statistics.
 *
 * @module
 */
import { isSameSubject } from "../../domain/alerts/signal.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  type CheckResult,
  judgedIn,
  judgedOf,
  type ResultsChange,
  withJudged,
} from "../../domain/runs/check_result.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeResults, encodeResults } from "../base/codec_checks.ts";
import { keys } from "../base/keys.ts";
import type { RunRef, RunUpdate } from "../runs/heads.ts";
import { getAll, getValue, type Store } from "../store.ts";
import { keyText, type KvSet } from "../writer/group.ts";
import type { TeamRows, TeamSet } from "../team/team_rows.ts";
import { DayDifference, placeOf, type ResultsPlace } from "./day_counts.ts";

/** Results within a commit. */
export interface ResultsPlan {
  /** Counts by day. */
  readonly rows: readonly TeamSet[];
  readonly sets: readonly KvSet[];
  readonly deletes: readonly Deno.KvKey[];
  /** The updates, with summaries that say what the results are. */
  readonly updates: readonly RunUpdate[];
  /** Changed results, by run. */
  readonly results: ReadonlyMap<RunId, ResultsChange>;
  /** Runs that were judged: their results differ in more than texts that retention removed. */
  readonly judged: ReadonlySet<RunId>;
}

/** Results of a run before and after an update, with the places where they count. */
interface Moved {
  readonly run: RunId;
  readonly before: Placed | null;
  readonly after: Placed | null;
}

interface Placed {
  readonly place: ResultsPlace;
  readonly results: readonly CheckResult[];
}

/** A plan without results, but for the updates. */
export const NO_RESULTS = {
  rows: [],
  sets: [],
  deletes: [],
  results: new Map(),
  judged: new Set<RunId>(),
};

/** Reads the results of a run, by slug; empty for none. */
export async function readResults({ store, team, id }: RunRef): Promise<readonly CheckResult[]> {
  return decodeResults(await getValue(store, keys.checkResults(team, id)));
}

/**
 * Plans what updates change of results.
 *
 * @param cached rows of the team, under the version that the commit checks
 * @param existing identifiers of its checks, also of those that are not enabled
 */
export async function planResults(
  store: Store,
  team: TeamId,
  cached: TeamRows,
  existing: ReadonlySet<string>,
  updates: readonly RunUpdate[],
): Promise<ResultsPlan> {
  const former = await readFormer(store, team, updates);
  const difference = new DayDifference(team, existing);
  const [sets, deletes]: [KvSet[], Deno.KvKey[]] = [[], []];
  const results = new Map<RunId, ResultsChange>();
  const judged = new Set<RunId>();
  const changed = updates.map((update): RunUpdate => {
    const { before, after } = update;
    const known = former.get(update.run.id) ?? null;
    if (known === null && !isJudged(update)) return { ...update, after: keeping(before, after) };
    const moved = movedOf(update, known);
    for (const [side, by] of [[moved.before, -1], [moved.after, 1]] as const) {
      if (side !== null) difference.count(side.place, side.results, by);
    }
    addRows(team, moved, sets, deletes);
    const change = { before: known, after: moved.after?.results ?? null };
    results.set(moved.run, change);
    const summary = after && withJudged(after, judgedOf(change.after));
    if (isSameJudgement(change)) return { ...update, after: summary };
    judged.add(moved.run);
    // Readers of the feed learn of each judgement, also if the summary says the same of both.
    return { ...update, after: summary !== null && summary === before ? { ...summary } : summary };
  });
  const rows = await difference.rows(cached);
  return { updates: changed, results, judged, rows, sets, deletes };
}

function isJudged({ judged }: RunUpdate): boolean {
  return judged !== undefined && judged !== null && judged.length > 0;
}

/** Reads the results that updates replace, remove or move. */
async function readFormer(
  store: Store,
  team: TeamId,
  updates: readonly RunUpdate[],
): Promise<ReadonlyMap<RunId, readonly CheckResult[]>> {
  const runs = updates.filter(({ before, after, judged }) =>
    before?.checks !== undefined && (judged !== undefined || isMoved(before, after))
  ).map(({ run: { id } }) => id);
  const rows = await getAll(store, runs.map((run) => keys.checkResults(team, run)));
  return new Map(runs.map((run, i) => [run, decodeResults(rows[i]?.value ?? null)]));
}

/** Returns whether the results of a run count in another place, or not at all any more. */
function isMoved(before: RunSummary, after: RunSummary | null): boolean {
  const [old, now] = [placeOf(before), placeOf(after)];
  return old?.day !== now?.day || old?.at !== now?.at || after === null ||
    !isSameSubject(before, after);
}

/** Returns the summary of a run that keeps its results. */
function keeping(before: RunSummary | null, after: RunSummary | null): RunSummary | null {
  return before === null || after === null ? after : withJudged(after, judgedIn(before));
}

function movedOf(
  { run: { id }, before, after, judged }: RunUpdate,
  known: readonly CheckResult[] | null,
): Moved {
  const placed = (summary: RunSummary | null, results: readonly CheckResult[] | null) => {
    const place = placeOf(summary);
    return place === null || results === null || results.length === 0 ? null : { place, results };
  };
  return {
    run: id,
    before: placed(before, known),
    after: placed(after, judged === undefined ? known : judged),
  };
}

/** Returns whether results differ in their texts alone. */
function isSameJudgement({ before, after }: ResultsChange): boolean {
  const [old, now] = [before ?? [], after ?? []];
  const isSame = (a: CheckResult, b: CheckResult | undefined) =>
    a.at === b?.at && a.revision === b.revision && a.id === b.id && a.status === b.status;
  return old.length === now.length && now.every((result, i) => isSame(result, old[i]));
}

/** Adds the rows of a run's results and of its failures. */
function addRows(
  team: TeamId,
  { run, before, after }: Moved,
  sets: KvSet[],
  deletes: Deno.KvKey[],
): void {
  const key = keys.checkResults(team, run);
  if (after === null) deletes.push(key);
  else sets.push({ key, value: encodeResults(after.results) });
  const [old, now] = [failureKeys(team, run, before), failureKeys(team, run, after)];
  for (const [name, key] of old) if (!now.has(name)) deletes.push(key);
  for (const [name, key] of now) if (!old.has(name)) sets.push({ key, value: true });
}

/** Returns the keys of a run's failures, by their text. */
export function failureKeys(
  team: TeamId,
  run: RunId,
  placed: Placed | null,
): ReadonlyMap<string, Deno.KvKey> {
  const failed = new Map<string, Deno.KvKey>();
  for (const { id, status } of placed?.results ?? []) {
    if (status !== "fail" || placed === null) continue;
    const key = keys.checkFailure(team, id, placed.place.at, run);
    failed.set(keyText(key), key);
  }
  return failed;
}
