/** Reads the two runs of a comparison, with the steps of the runs that they started. */
import { unlessRefused } from "../../../domain/core/errors.ts";
import { totalsOf } from "../../../domain/runs/list.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import { assemble } from "../../../domain/runs/record.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import type { Reader } from "../layout/page.tsx";
import { CHILDREN_LISTED } from "./paths.ts";
import { lastSuccess } from "./run_load.ts";
import { eventSteps, runStep, type Step } from "./run_view.ts";
import { isFailure } from "./texts.ts";

/** Maximum steps of a run that are compared, the first ones, and runs that are read for them. */
export const STEPS_MAX = 300;
const RUNS_MAX = 40;

/** A step of a compared run. */
export interface ComparedStep extends Step {
  /** Its place among the steps of the compared run. */
  readonly index: number;
  /** Generations of child runs that it is in. */
  readonly depth: number;
  /** Agents of these runs, each with its number among the children of its parent; empty for none. */
  readonly within: string;
}

/** A run of a comparison. */
export type Side = NonNullable<Awaited<ReturnType<typeof loadSide>>>;

/**
 * Loads a run and the one to compare it with, by default the last success before it. Null if the
 * team does not have the run; the other one is null if there is none.
 *
 * @param wanted id of the other run, as the query has it
 */
export async function loadSides(reader: Reader, id: RunId, wanted: string | null) {
  const a = await loadSide(reader, id);
  if (a === null) return null;
  const otherId = wanted === null
    ? await lastSuccess(reader, a.run)
    : unlessRefused(() => parseRunId(wanted.trim()), () => null);
  return { a, b: otherId ? await loadSide(reader, otherId) : null };
}

async function loadSide({ deps, team }: Reader, id: RunId) {
  const { runs, lineage, environment } = deps;
  const steps: ComparedStep[] = [];
  const visited = new Set<RunId>();
  let left = STEPS_MAX;
  let isCut = false;
  /** Adds the steps of a run in order of time; the steps of a child run follow it. */
  const walk = async (run: RunId, depth: number, within: string) => {
    visited.add(run);
    const stored = await runs.find(team, run);
    if (stored === null) return null;
    const page = await stored.page(null, left);
    left -= page.events.length;
    isCut ||= page.next !== null;
    const rows = await lineage.rows(team, await lineage.children(team, run, CHILDREN_LISTED));
    const children = rows.map((row) =>
      runStep(row, {
        parent: run,
        atMs: row.startedAt ?? row.receivedAt,
        text: null,
        failure: isFailure(row.status) ? row.status : null,
        folded: null,
      }, environment.now())
    );
    const events = eventSteps({ run, events: page.events, calls: new Map(), isRoot: depth === 0 });
    const agents = new Map<string, number>();
    for (const step of [...events, ...children].sort((x, y) => x.atMs - y.atMs)) {
      steps.push({ ...step, index: steps.length, depth, within });
      if (step.kind !== "run" || visited.has(step.run)) continue;
      if (left <= 0 || visited.size > RUNS_MAX) {
        isCut = true;
        continue;
      }
      left--;
      // Of several child runs of an agent, the first is compared with the first.
      const nth = (agents.get(step.name) ?? 0) + 1;
      agents.set(step.name, nth);
      await walk(step.run, depth + 1, `${within}${step.name} ${nth}/`);
    }
    return stored;
  };
  const [stored, family] = await Promise.all([walk(id, 0, ""), lineage.of(team, id)]);
  if (stored === null) return null;
  const run = assemble(id, stored);
  const totals = addCounts(family.totals, totalsOf(run));
  return { run, steps, children: family.children.length, totals, isCut };
}
