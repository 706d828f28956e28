/**
 * Tries checks over stored runs.
 *
 * @module
 */
import { compile } from "../../domain/checks/compile.ts";
import {
  checksOf,
  judge,
  type JudgingCheck,
  neededFacts,
  type RunChoice,
} from "../../domain/checks/apply_checks.ts";
import { type CheckTrial, TRIAL, type TrialResult } from "../../domain/checks/check_store.ts";
import type { Team } from "../../domain/teams/team.ts";
import { appliesToAgent } from "../../domain/agents/agents.ts";
import { Overloaded } from "../../domain/core/errors.ts";
import { FairSlots, type SlotLimits } from "../../runtime/fair_slots.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { ReadScope } from "../../domain/core/read_scope.ts";
import { CHECK_STATUSES, type CheckResult } from "../../domain/runs/check_result.ts";
import type { RunPosition, RunsQuery } from "../../domain/runs/list.ts";
import { summarize } from "../../domain/runs/summary.ts";
import { currentScope, readScopes } from "../base/reads.ts";
import { readRunListPage } from "../run_list/run_list.ts";
import {
  isStored,
  readHeads,
  readSummaries,
  type SummarizedHead,
  type TeamRef,
} from "../runs/heads.ts";
import type { Store } from "../store.ts";
import { closedRunOf, readFacts } from "./read_facts.ts";
import { placeInSample } from "./check_runs.ts";

/** Concurrent trials: each may compute all the time. */
const TRIALS: SlotLimits = { all: 2, team: 1, waiting: 200, teamWaiting: 20 };

/** Maximum runs that a trial judges or skips, and bytes that it reads. */
export const TRIAL_READS = { runsMax: 5_000, bytesMax: 67_108_864 } as const;

/** Runs that one read lists, and runs that are in memory at once. */
const RUNS_PER_READ = { listed: 50, heads: 10 } as const;

/** Dependencies of {@link createCheckTrialStore}. */
export interface TrialDeps {
  readonly store: Store;
  /** Returns unix milliseconds. */
  readonly now: () => number;
  /** Maximum milliseconds of a trial, with its wait for a slot. */
  readonly msMax?: number;
}

/** A trial under way. */
interface TrialRun extends TeamRef {
  readonly check: JudgingCheck;
  readonly scope: ReadScope;
  readonly now: () => number;
  /** Results so far. */
  readonly judged: JudgedRun[];
}

type JudgedRun = Pick<CheckResult, "status" | "got" | "message"> & { readonly run: RunId };

/** Tries checks over stored runs. */
export type CheckTrialStore = ReturnType<typeof createCheckTrialStore>;

/** Creates the store that tries checks. */
export function createCheckTrialStore({ store, now, msMax = TRIAL.msMax }: TrialDeps) {
  const slots = new FairSlots(TRIALS);
  return {
    /**
     * Judges runs; null if the one run does not exist. Rejects with `Overloaded` if no slot is free
     * in time.
     *
     * @param trial settings whose expression compiles
     */
    try: async ({ id: team }: Team, trial: CheckTrial): Promise<TrialResult | null> => {
      const late = new AbortController();
      const forget = store.deadlines.after(msMax, () => late.abort());
      const outer = currentScope();
      const signal = outer === null ? late.signal : AbortSignal.any([late.signal, outer.signal]);
      const scope = new ReadScope(signal, outer);
      const attempt: TrialRun = {
        store,
        team,
        check: checkOf(store, trial),
        scope,
        now,
        judged: [],
      };
      let release: (() => void) | null = null;
      try {
        release = await slots.take(team, signal);
        return await readScopes.run(scope, () => judgeAll(attempt, trial));
      } catch (error) {
        if (!late.signal.aborted) throw error;
        if (release === null) throw new Overloaded("The trial waited too long in the queue");
        return resultOf(attempt, true);
      } finally {
        release?.();
        forget();
      }
    },
  };
}

function checkOf({ patterns }: Store, { settings, slug }: CheckTrial): JudgingCheck {
  const program = compile(settings.expression, patterns);
  return { slug, settings, program, id: "", version: 0 };
}

/** Judges the runs of a trial; null if the one run does not exist. */
async function judgeAll(attempt: TrialRun, { runs }: CheckTrial): Promise<TrialResult | null> {
  if (!("run" in runs)) return resultOf(attempt, !await judgeLatest(attempt, runs));
  const { store, team } = attempt;
  const [head] = await store.reads.run(team, () => readHeads(attempt, [runs.run]));
  if (head === undefined || !isStored(head.head)) return null;
  await judgeRun(attempt, head);
  return resultOf(attempt, false);
}

/** Judges the latest runs; returns false if a limit of reads ended it. */
async function judgeLatest(
  attempt: TrialRun,
  { last, agent }: Exclude<CheckTrial["runs"], { readonly run: RunId }>,
): Promise<boolean> {
  const { store, team, check: { settings }, scope, judged } = attempt;
  if (agent !== null && !appliesToAgent(settings.agents, agent)) return true;
  const query = queryOf(settings, agent);
  let after: RunPosition | null = null;
  for (let seen = 0; seen < TRIAL_READS.runsMax; seen += RUNS_PER_READ.listed) {
    const { runs, next } = await listRuns(attempt, query, after);
    while (runs.length > 0) {
      const some = runs.splice(0, Math.min(RUNS_PER_READ.heads, last - judged.length));
      const heads = await store.reads.run(team, () => readHeads(attempt, some));
      for (const head of heads) await judgeRun(attempt, head);
      if (judged.length === last) return true;
      if (scope.bytes > TRIAL_READS.bytesMax) return false;
    }
    if (next === null) return true;
    after = next;
  }
  return false;
}

/** Lists runs that the check applies to, newest first. */
function listRuns(attempt: TrialRun, query: RunsQuery, after: RunPosition | null) {
  const { store, team, check } = attempt;
  return store.reads.run(team, async () => {
    const page = await readRunListPage(store, team, query, after, RUNS_PER_READ.listed);
    const summaries = await readSummaries(attempt, page.rows.map(({ id }) => id));
    const applying = [...summaries].filter(([id, summary]) =>
      checksOf({ id, summary }, [check], placeInSample).length > 0
    );
    return { runs: applying.map(([id]) => id), next: page.next };
  });
}

/** Returns a query that lists all runs that a check or a judge applies to, and few others. */
export function queryOf(settings: RunChoice, agent: string | null): RunsQuery {
  const only = <Word>(words: readonly Word[]) => words.length === 1 ? words[0] : undefined;
  const [name, status, kind, feature] = [
    agent ?? only(settings.agents.filter((pattern) => !pattern.endsWith("*"))),
    only(settings.statuses),
    only(settings.kinds),
    only(settings.features),
  ];
  const isOneAgent = agent !== null || settings.agents.length === 1;
  return {
    from: null,
    to: null,
    ...name === undefined || !isOneAgent ? {} : { agent: name },
    ...status === undefined ? {} : { status },
    ...kind === undefined ? {} : { kind },
    ...feature === undefined ? {} : { feature },
  };
}

/**
 * Judges a run, unless the check does not apply to it. Other work then gets at least the time that the
 * check took.
 */
async function judgeRun(attempt: TrialRun, read: SummarizedHead): Promise<void> {
  const { store, team, check, now, judged } = attempt;
  const run = { ...read, summary: summarize(read.head, read.summary) };
  if (checksOf(run, [check], placeInSample).length === 0) return;
  const closed = closedRunOf(run);
  const needed = neededFacts(closed, [check]);
  const { facts, missing } = await store.reads.run(team, () => readFacts(run, needed));
  const startMs = performance.now();
  const { status, got, message } = judge(closed, check, facts, missing, now());
  judged.push({ run: run.id, status, got, message });
  const tookMs = performance.now() - startMs;
  await new Promise((resolve) => setTimeout(resolve, tookMs));
  attempt.scope.signal.throwIfAborted();
}

function resultOf({ judged }: TrialRun, isCut: boolean): TrialResult {
  const [pass = 0, fail = 0, error = 0, skipped = 0] = CHECK_STATUSES.map((status) =>
    judged.filter((each) => each.status === status).length
  );
  const passed = (each: JudgedRun) => each.status === "pass";
  const ordered = [...judged.filter((each) => !passed(each)), ...judged.filter(passed)];
  const examples = ordered.slice(0, TRIAL.examplesMax);
  return { runs: judged.length, pass, fail, error, skipped, examples, isCut };
}
