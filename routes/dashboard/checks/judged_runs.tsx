/** Runs that a check judged: their names and their ends, where they are still stored. */
import type { CheckFailure, CheckStats } from "../../../domain/checks/store.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { runPath } from "../layout/paths.ts";
import { shortId, titleOf } from "../run/title.ts";

type Ends = ReadonlyMap<RunId, Pick<RunRecord, "finishedAt">>;

/** The goal of a run, linked; the end of its id if the run is deleted. */
export function JudgedRun({ id, run }: {
  readonly id: RunId;
  readonly run: RunRecord | undefined;
}) {
  if (run === undefined) return <span class="soft" title={id}>{shortId(id)}, deleted</span>;
  return <a class="row" href={runPath(id)}>{titleOf({ run })}</a>;
}

/** Returns when a failed run ended. Statistics only have the arrival, which is later for imports. */
export function endOf({ run, at }: CheckFailure, runs: Ends): number {
  return runs.get(run)?.finishedAt ?? at;
}

/** Returns the end of the first run since which a check fails; null if it does not. */
export function failingFrom({ failures, failingSince }: CheckStats, runs: Ends): number | null {
  const first = failures.find(({ at }) => at === failingSince);
  return first === undefined ? failingSince : endOf(first, runs);
}
