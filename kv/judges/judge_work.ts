/**
 * Judges runs that are due: claims a call, makes it, and stores its outcome.
 *
 * A call is claimed in a commit that holds its worst case, and its outcome is another one. If that
 * commit never happens, the hold counts as spent after 10 minutes. The score and the cost of an ended
 * job are added under ids that are the same again, so a crash in between repeats them harmlessly.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  type Region,
  type RunId,
  type ScoreId,
  type TeamId,
  uuid7Hex,
} from "../../domain/core/ids.ts";
import {
  afterCall,
  claimTry,
  ended,
  type JudgeJob,
  ledgerName,
  nextStep,
} from "../../domain/judges/judge_job.ts";
import { type Judge, judgeAgent, JUDGES_MAX } from "../../domain/judges/judge.ts";
import { afterTrial } from "../../domain/judges/judge_trial.ts";
import type { RunStore } from "../../domain/runs/run_store.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { type JobDeps, jobLine } from "../../runtime/loop.ts";
import { keys } from "../base/keys.ts";
import type { ScoreStore } from "../runs/scores.ts";
import { getValue } from "../store.ts";
import { type CallDeps, planCall, storeOutcome } from "./calls.ts";
import { readJob, type StoredJob, writeJob } from "./judge_rows.ts";
import { JUDGE_SOURCE, readSubject, type Subject } from "./subject.ts";

/** Dependencies of the work. */
export interface JudgeWorkDeps extends JobDeps, CallDeps {
  readonly runs: Pick<RunStore, "heartbeat">;
  readonly scores: Pick<ScoreStore, "add">;
  readonly region: Region;
  /** Called with a run whose result has changed. */
  readonly onChanged: (team: TeamId, runs: readonly RunId[]) => void;
}

/** Milliseconds until a job is tried again that waits for a free call of its connection. */
const BUSY_MS = 1_000;

/** Milliseconds until a job is tried again whose connection this process lacks. */
const LACKING_MS = 60_000;

/** Maximum judges that the log names for it. */
const LACKING_MAX = 1_000;

/** Creates the handler. */
export function createJudgeWork(deps: JudgeWorkDeps): WorkHandler {
  const lacking = new Set<string>();
  return {
    kind: "judge",
    async handle(rows, _, stopping) {
      for (const row of rows) await new JudgeTask(deps, lacking, row, stopping).step();
      return [];
    },
  };
}

/** A run that is judged, not skipped. */
type CallableSubject = { readonly [Part in keyof Subject]: NonNullable<Subject[Part]> };

/** One step of a judge on a run. */
class JudgeTask {
  readonly #deps: JudgeWorkDeps;
  /** Judges whose lack of a connection is in the log. */
  readonly #lacking: Set<string>;
  readonly #row: Work;
  readonly #stopping: AbortSignal;

  constructor(deps: JudgeWorkDeps, lacking: Set<string>, row: Work, stopping: AbortSignal) {
    this.#deps = deps;
    this.#lacking = lacking;
    this.#row = row;
    this.#stopping = stopping;
  }

  /** Takes the next step of a job. After a conflict the row stays, and the next step reads again. */
  async step(): Promise<void> {
    const { store, now } = this.#deps;
    const stored = await readJob(store, this.#row);
    if (stored.due.versionstamp === null) return;
    const nowMs = now();
    const { job, account, trial } = stored;
    // Of a trial only what it has not ended itself is left to do.
    const isOpen = trial === null && (job === null || job.claim === null);
    const subject = isOpen ? await this.#subject(stored, nowMs) : null;
    if (subject === "gone") return await this.#removed(stored, nowMs);
    const step = nextStep(job, subject?.fresh ?? null, account, nowMs);
    switch (step.kind) {
      case "wait":
        return await this.#write(stored, { nextAt: step.until });
      case "lost": {
        const state = { job: step.job, account };
        const name = step.claim.hold.name;
        const end = trial === null ? afterCall : afterTrial;
        const after = end(state, name, { kind: "lost" }, null, nowMs);
        const isStored = await writeJob(store, stored, after ?? { nextAt: nowMs });
        if (isStored) this.#deps.metrics.count({ kind: "lost" }, step.claim.hold.amount);
        return;
      }
      case "tell":
        return await this.#tell(stored, step.job, trial !== null);
      case "kept":
        if (trial !== null) return await this.#write(stored, { job: null, nextAt: null });
        return await this.#keep(stored, subject);
      case "call":
        if (subject !== null) await this.#call(stored, step.job, subject, nowMs);
    }
  }

  async #subject(stored: StoredJob, nowMs: number) {
    const { store } = this.#deps;
    const { team, slug } = stored;
    const judge = await getValue<Judge>(store, keys.configObject(team, "judge", slug));
    return await readSubject(store, stored, judge, nowMs);
  }

  async #write(stored: StoredJob, write: Parameters<typeof writeJob>[2]): Promise<void> {
    await writeJob(this.#deps.store, stored, write);
  }

  /** Ends the step of a run whose text was judged; the result is of its new revision too. */
  async #keep(stored: StoredJob, subject: Subject | null): Promise<void> {
    const { job } = stored;
    const revision = subject?.fresh.revision ?? job?.revision;
    const isRevised = job !== null && revision !== undefined && revision !== job.revision;
    await this.#write(stored, { nextAt: null, ...isRevised ? { job: { ...job, revision } } : {} });
    this.#notify(stored);
  }

  /** Ends the job of a removed run. */
  async #removed(stored: StoredJob, nowMs: number): Promise<void> {
    const { job } = stored;
    if (job === null || job.isTold || job.end === null && job.cost === 0n) {
      return await this.#write(stored, { job: null, nextAt: null });
    }
    const end = { state: "failed", reason: "run_deleted" } as const;
    await this.#tell(stored, job.end === null ? ended(job, end, nowMs) : job, true);
  }

  async #call(
    stored: StoredJob,
    job: JudgeJob,
    { fresh, judge, prompt }: Subject,
    nowMs: number,
  ): Promise<void> {
    const { log, metrics, slots } = this.#deps;
    if (fresh.end !== null) return await this.#skip(stored, job, fresh, nowMs);
    if (judge === null || prompt === null) return;
    const { settings: { connection: name }, slug } = judge;
    const slot = slots.get(name);
    if (slot === undefined) {
      metrics.calls.count({ outcome: "no_connection" });
      await this.#write(stored, { nextAt: nowMs + LACKING_MS });
      const judgeName = `${stored.team} ${slug} ${name}`;
      if (this.#lacking.has(judgeName) || this.#lacking.size >= LACKING_MAX) return;
      this.#lacking.add(judgeName);
      const work = `Judge ${slug} of team ${stored.team} waits for its connection ` +
        `${JSON.stringify(name)}, which RUNLEDGER_LLM lacks`;
      return log(jobLine(nowMs, { work }));
    }
    if (!slot.hasFreeSlot(stored.team)) {
      return await this.#write(stored, { nextAt: nowMs + BUSY_MS });
    }
    const release = await slot.take(stored.team, this.#stopping);
    try {
      await this.#callModel(stored, job, { fresh, judge, prompt }, nowMs);
    } finally {
      release();
    }
  }

  /** Claims a call, makes it, and stores its outcome. */
  async #callModel(
    stored: StoredJob,
    job: JudgeJob,
    { fresh, judge: { settings }, prompt }: CallableSubject,
    nowMs: number,
  ): Promise<void> {
    const { store } = this.#deps;
    const call = await planCall(this.#deps, stored.team, settings, job, prompt);
    if (call === null) {
      const unpriced = ended(fresh, { state: "skipped", reason: "unpriced" }, nowMs);
      return await this.#skip(stored, job, unpriced, nowMs);
    }
    const { account } = stored;
    const claimed = claimTry({ job, account }, call, settings.dailyUsd, nowMs);
    if (!await writeJob(store, stored, claimed) || claimed.job.claim === null) return;
    const outcome = await call.send(this.#stopping);
    const filed = { ...this.#row, at: claimed.nextAt };
    await storeOutcome(this.#deps, filed, call, outcome, afterCall);
  }

  /** Ends a job without a call. What earlier calls cost is told. */
  async #skip(stored: StoredJob, job: JudgeJob, skipped: JudgeJob, nowMs: number): Promise<void> {
    const { end } = skipped;
    if (end === null) return;
    // Retention may have removed the text of a run that was judged.
    if (stored.job !== null && stored.job.end !== null) return await this.#keep(stored, null);
    const isFirst = job.cost === 0n;
    const after = isFirst ? { ...skipped, isTold: true } : ended(job, end, nowMs);
    await this.#write(stored, { job: after, nextAt: isFirst ? null : nowMs });
    this.#notify(stored);
  }

  /**
   * Adds the score and the cost of an ended job to the ledger.
   *
   * @param isRemoved true for a trial, and if the run is removed; then the job is too
   */
  async #tell(stored: StoredJob, job: JudgeJob, isRemoved = false): Promise<void> {
    const { store, runs, scores, region, now } = this.#deps;
    const { team: id, run, slug } = stored;
    const team = await getValue<Team>(store, keys.team(id));
    if (team === null || job.end === null) return;
    const hash = createHash("sha256").update(ledgerName(id, run, slug, job)).digest();
    const isDone = job.end.state === "done";
    if (job.end.state === "done" && !isRemoved) {
      const request = {
        id: `scr_${region}_${uuid7Hex(job.closedAt, hash.subarray(10, 20))}` as ScoreId,
        name: judgeAgent(slug),
        value: job.end.judgement.score,
        source: JUDGE_SOURCE,
      };
      // One score is reserved for each judge. A run that is full, or removed meanwhile, gets none; the result is stored.
      await scores.add(team, run, request, job.endedAt, JUDGES_MAX);
    }
    if (isDone || job.cost > 0n) {
      const startedAt = job.spentAt ?? job.endedAt;
      const outcome = await runs.heartbeat(team, {
        id: `run_${region}_${uuid7Hex(job.closedAt, hash.subarray(0, 10))}` as RunId,
        agent: judgeAgent(slug),
        status: isDone ? "ok" : "fail",
        startedAt,
        finishedAt: Math.max(startedAt, job.endedAt),
        reported: { cost: job.cost, model: job.model },
        parentRunId: run,
      }, now());
      if (outcome.kind === "refused") throw new Error(outcome.problem.message);
    }
    const after = isRemoved ? null : { ...job, isTold: true };
    await this.#write(stored, { job: after, nextAt: null });
    this.#notify(stored);
  }

  #notify({ team, run }: StoredJob): void {
    this.#deps.onChanged(team, [run]);
  }
}
