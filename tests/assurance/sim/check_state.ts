/** Checks of a team in the model, and the results of its runs. Imports nothing from the service. */
import { type Check, type CheckSettings, dayOf, type Result, resultsOf } from "./checks.ts";
import { asClosed, type Fields, type Run, same, type State } from "./shape.ts";

/** Checks by slug, and what they said of runs. */
export interface Checks {
  readonly checks: Readonly<Record<string, Check>>;
  /** Results by run; runs without results are absent. */
  readonly results: Readonly<Record<string, readonly Result[]>>;
  /** States of runs that were judged last. */
  readonly judged: Readonly<Record<string, string>>;
}

export const NO_CHECKS: Checks = { checks: {}, results: {}, judged: {} };

export interface CheckCall {
  readonly slug: string;
  /** Settings of a put; null for a deletion. */
  readonly settings: CheckSettings | null;
}

/** Changes or deletes a check; returns the status that the call gets. A new one has no id yet. */
export function changeCheck(state: Checks, { slug, settings }: CheckCall): [Checks, number] {
  const { [slug]: check, ...others } = state.checks;
  if (settings === null) {
    return check === undefined ? [state, 404] : [{ ...state, checks: others }, 200];
  }
  const { id = "", version = 0 } = check ?? {};
  if (version > 0 && same(settings, check?.settings)) return [state, 200];
  const checks = { ...others, [slug]: { id, version: version + 1, settings } };
  return [{ ...state, checks }, 202];
}

/** Judges the runs that changed since they were judged, by the checks of now. */
export function judgeChanged(state: Checks, { runs }: State): Checks {
  const changed = Object.entries(runs).filter(([id, run]) => state.judged[id] !== nameOf(run));
  if (changed.length === 0) return state;
  const results: Record<string, readonly Result[]> = { ...state.results };
  for (const [id, run] of changed) {
    const judged = resultsOf(id, run, state.checks);
    if (judged === null) delete results[id];
    else results[id] = judged;
  }
  const judged = changed.map(([id, run]) => [id, nameOf(run)]);
  return { ...state, results, judged: { ...state.judged, ...Object.fromEntries(judged) } };
}

/** Names what was stored of a run: parts never change, they are only added or replaced. */
function nameOf({ opening, closing, idle, events }: Run): string {
  const parts = [opening, closing, idle].map((part) => part && [part.received_at, part.kind]);
  return JSON.stringify([...parts, events.length]);
}

/** Forgets the results of a run that was deleted. */
export function forget(state: Checks, id: string): Checks {
  const { [id]: _, ...results } = state.results;
  return { ...state, results };
}

interface Statistics {
  readonly days: readonly Fields[];
  readonly failures: readonly { readonly run_id: string; readonly atMs: number }[];
  readonly failingSinceMs: number | null;
}

export function statisticsOf({ results }: Checks, { runs }: State, id: string): Statistics {
  const judged = Object.entries(results).flatMap(([run_id, all]) => {
    const result = all.find((result) => result.id === id);
    const stored = runs[run_id];
    if (result === undefined || stored === undefined) return [];
    const run = asClosed(stored);
    const { opening, closing } = run;
    const atMs = Math.max(opening?.received_at ?? 0, closing?.received_at ?? 0);
    return [{ run_id, status: result.status, day: dayOf(run), agent: `${opening?.agent}`, atMs }];
  });
  const groups = Map.groupBy(judged, ({ day, agent }) => `${day} ${agent}`);
  const of = (status: string, all: readonly { readonly status: string }[]) =>
    all.filter((each) => each.status === status).length;
  const days = [...groups].sort(([a], [b]) => a < b ? -1 : 1).map(([, all]) => ({
    ...{ day: all[0]?.day, agent: all[0]?.agent },
    ...{ pass: of("pass", all), fail: of("fail", all) },
    ...{ error: of("error", all), skipped: of("skipped", all) },
  }));
  const failures = judged.filter(({ status }) => status === "fail")
    .map(({ run_id, atMs }) => ({ run_id, atMs }))
    .sort((a, b) => b.atMs - a.atMs || (a.run_id < b.run_id ? 1 : -1));
  const passes = judged.filter(({ status }) => status === "pass").map(({ atMs }) => atMs);
  const since = failures.filter(({ atMs }) => atMs > Math.max(-Infinity, ...passes)).at(-1);
  return { days, failures, failingSinceMs: since?.atMs ?? null };
}

/** Returns the runs that failed a check, in the order of their ids (decision 61). */
export function failedRuns({ results }: Checks): string[] {
  const isFailed = ({ status, severity }: Result) => status === "fail" && severity === "fail";
  return Object.entries(results).filter(([, all]) => all.some(isFailed)).map(([id]) => id).sort();
}
