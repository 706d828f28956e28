/**
 * Tries judges over stored runs.
 *
 * @module
 */
import { choosesRun } from "../../domain/checks/apply_checks.ts";
import { isJudgeAgent } from "../../domain/agents/agents.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { ReadScope } from "../../domain/core/read_scope.ts";
import { heldAmount } from "../../domain/judges/account.ts";
import {
  ended,
  type JobChange,
  type JudgeJob,
  judgeResult,
  LIMIT_IGNORED,
} from "../../domain/judges/judge_job.ts";
import { completeJudge } from "../../domain/judges/judge_body.ts";
import type { Judge } from "../../domain/judges/judge.ts";
import {
  afterTrial,
  claimTrial,
  JUDGE_TRIAL,
  type JudgeTrial,
  type JudgeTrialResult,
  TRIAL_ENDED,
  type TriedRun,
} from "../../domain/judges/judge_trial.ts";
import type { Prompt } from "../../domain/judges/prompt.ts";
import { type Picodollars, picodollars } from "../../domain/pricing/money.ts";
import type { RunPosition } from "../../domain/runs/list.ts";
import type { Team } from "../../domain/teams/team.ts";
import { currentScope, readScopes } from "../base/reads.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { placeInSample } from "../checks/check_runs.ts";
import { queryOf, TRIAL_READS } from "../checks/check_trial.ts";
import { readRunListPage } from "../run_list/run_list.ts";
import { readSummaries } from "../runs/heads.ts";
import { getValue, newRowName } from "../store.ts";
import { type CallDeps, planCall, type PlannedCall, storeOutcome } from "./calls.ts";
import { type JudgeRow, judgeRow, readAccounts, readJob, writeJob } from "./judge_rows.ts";
import { readSubject, type Subject } from "./subject.ts";

/** Dependencies of {@link createJudgeTrials}. */
export interface JudgeTrialDeps extends CallDeps {
  /** Ends all trials. */
  readonly stopping: AbortSignal;
  /** Maximum milliseconds of a trial. */
  readonly msMax?: number;
}

/** Tries judges. */
export type JudgeTrials = ReturnType<typeof createJudgeTrials>;

/** Runs of one page of the run list. */
const RUNS_PER_READ = 50;

/** Creates the store that tries judges. */
export function createJudgeTrials(deps: JudgeTrialDeps) {
  const { store, stopping, msMax = JUDGE_TRIAL.msMax } = deps;
  return {
    /** Judges runs; null if one of them does not exist. */
    async try({ id: team }: Team, trial: JudgeTrial): Promise<JudgeTrialResult | null> {
      const card = await deps.cards.card({ id: team });
      completeJudge(trial.settings, deps.models.connections, card, deps.now());
      const late = new AbortController();
      const forget = store.deadlines.after(msMax, () => late.abort());
      // The caller may leave: what a call costs is stored nevertheless.
      const scope = new ReadScope(new AbortController().signal, currentScope());
      const signal = AbortSignal.any([late.signal, stopping]);
      try {
        return await readScopes.run(scope, () => new Trial(deps, team, trial, signal).result());
      } finally {
        forget();
      }
    },
  };
}

/** A trial under way. */
class Trial {
  readonly #deps: JudgeTrialDeps;
  readonly #team: TeamId;
  readonly #trial: JudgeTrial;
  /** Aborts at the end of the time. */
  readonly #signal: AbortSignal;
  readonly #judge: Judge;
  /** US dollars that may be spent on a day: a stored judge keeps its own cap. */
  #dailyUsd: number;
  /** True once no further call may be made. */
  #isStopped = false;

  constructor(deps: JudgeTrialDeps, team: TeamId, trial: JudgeTrial, signal: AbortSignal) {
    this.#deps = deps;
    this.#team = team;
    this.#trial = trial;
    this.#signal = signal;
    const settings = { ...trial.settings, enabled: true };
    const stored = { version: 0, createdAt: 0, updatedAt: 0, updatedBy: null };
    this.#judge = { ...stored, slug: trial.slug, id: newRowName(), settings };
    this.#dailyUsd = settings.dailyUsd;
  }

  async result(): Promise<JudgeTrialResult | null> {
    const { store, now } = this.#deps;
    const { runs: asked, slug } = this.#trial;
    const own = await getValue<Judge>(store, keys.configObject(this.#team, "judge", slug));
    this.#dailyUsd = Math.min(this.#dailyUsd, own?.settings.dailyUsd ?? Infinity);
    const ids = "last" in asked ? await this.#latest(asked.last) : asked;
    const subjects: (readonly [RunId, Subject | null])[] = [];
    for (const id of ids) {
      const subject = await this.#subject(id);
      if (subject === "gone") return null;
      subjects.push([id, subject]);
    }
    const runs: TriedRun[] = [];
    const rest = subjects.entries();
    const work = async () => {
      for (const [at, [id, subject]] of rest) runs[at] = await this.#run(id, subject);
    };
    await Promise.all(Array.from({ length: JUDGE_TRIAL.callsMax }, work));
    const [account] = await readAccounts(store, this.#team, [slug], now());
    const used = account === undefined ? 0n : account.spent + heldAmount(account);
    const left = picodollars(this.#dailyUsd) - used;
    return { runs, left: left > 0n ? left : 0n };
  }

  /** Returns the latest closed runs that the judge applies to. */
  async #latest(last: number): Promise<readonly RunId[]> {
    const { store } = this.#deps;
    const { settings } = this.#judge;
    const at = { store, team: this.#team };
    const chosen: RunId[] = [];
    let after: RunPosition | null = null;
    for (let seen = 0; seen < TRIAL_READS.runsMax; seen += RUNS_PER_READ) {
      const { ids, next }: { ids: readonly RunId[]; next: RunPosition | null } = await store.reads
        .run(this.#team, async () => {
          const query = queryOf(settings, null);
          const page = await readRunListPage(store, this.#team, query, after, RUNS_PER_READ);
          const summaries = await readSummaries(at, page.rows.map(({ id }) => id));
          const fitting = [...summaries].filter(([id, summary]) =>
            summary.seen.closing && !isJudgeAgent(summary.contribution?.labels.agent ?? null) &&
            choosesRun({ slug: null, settings }, id, summary, placeInSample)
          );
          return { ids: fitting.map(([id]) => id), next: page.next };
        });
      chosen.push(...ids);
      if (chosen.length >= last || next === null) break;
      after = next;
    }
    return chosen.slice(0, last);
  }

  #subject(run: RunId): Promise<Subject | "gone" | null> {
    const { store, now } = this.#deps;
    const name = { team: this.#team, run, slug: this.#judge.slug };
    return store.reads.run(this.#team, () => readSubject(store, name, this.#judge, now()));
  }

  async #run(run: RunId, subject: Subject | null): Promise<TriedRun> {
    const { slug, settings } = this.#judge;
    const shown = (job: JudgeJob | null, costMax: Picodollars | null = null): TriedRun => ({
      ...judgeResult(slug, job && { ...job, isTold: true }),
      run,
      costMax,
    });
    if (subject === null) return { ...shown(null), state: "skipped", reason: "not_closed" };
    const { fresh, prompt } = subject;
    if (prompt === null) return shown(fresh);
    const call = await planCall(this.#deps, this.#team, settings, fresh, prompt);
    if (call === null) return shown(this.#skipped(fresh, "unpriced"));
    const isEstimate = this.#trial.isEstimate;
    return shown(isEstimate ? fresh : await this.#call(run, fresh, prompt), call.amount);
  }

  #skipped(job: JudgeJob, reason: string): JudgeJob {
    return ended(job, { state: "skipped", reason }, this.#deps.now());
  }

  /** Calls the model, again only with a form of the answer that the server knows. */
  async #call(run: RunId, fresh: JudgeJob, prompt: Prompt): Promise<JudgeJob> {
    const { now, slots } = this.#deps;
    const { slug, settings, id } = this.#judge;
    const slot = slots.get(settings.connection);
    let job = fresh;
    let row = judgeRow(this.#team, { run, slug, trial: id }, now());
    while (job.end === null) {
      const release = await slot?.take(this.#team, this.#signal).catch(() => null) ?? null;
      if (release === null) return this.#skipped(job, TRIAL_ENDED);
      try {
        const call = await planCall(this.#deps, this.#team, settings, job, prompt);
        if (call === null) return this.#skipped(job, "unpriced");
        if (this.#isStopped) return this.#skipped(job, LIMIT_IGNORED);
        const claimed = await this.#claim(row, job, call);
        if (claimed.job.claim === null) return claimed.job;
        row = { ...row, at: claimed.nextAt };
        const outcome = await call.send(this.#signal);
        const after = await storeOutcome(this.#deps, row, call, outcome, afterTrial);
        const lost = { state: "failed", reason: TRIAL_ENDED } as const;
        job = after?.job ?? ended(claimed.job, lost, now());
        row = { ...row, at: after?.nextAt ?? row.at };
        if (job.end?.state === "failed") this.#isStopped ||= job.end.reason === LIMIT_IGNORED;
      } finally {
        release();
      }
    }
    return job;
  }

  /** Commits a claim; other calls change the account meanwhile. */
  #claim(row: JudgeRow, job: JudgeJob, call: PlannedCall): Promise<JobChange> {
    const { store, now } = this.#deps;
    return untilCommitted("claim a call of a judge", async () => {
      const stored = await readJob(store, row);
      const { account } = stored;
      const claimed = claimTrial({ job, account }, call, this.#dailyUsd, now());
      if (claimed.job.claim === null) return claimed;
      return await writeJob(store, stored, claimed) ? claimed : LOST;
    });
  }
}
