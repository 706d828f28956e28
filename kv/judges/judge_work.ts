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
import { StorageUnavailable } from "../../domain/core/errors.ts";
import {
  type Region,
  type RunId,
  type ScoreId,
  type TeamId,
  uuid7Hex,
} from "../../domain/core/ids.ts";
import { utf8Bytes } from "../../domain/core/raw_json.ts";
import { worstCase } from "../../domain/judges/account.ts";
import { ANSWER_PROBLEMS } from "../../domain/judges/answer.ts";
import type { Connection } from "../../domain/judges/connection.ts";
import {
  afterCall,
  type CallOutcome,
  claimTry,
  ended,
  type JudgeJob,
  ledgerName,
  nextStep,
} from "../../domain/judges/job.ts";
import { judgeAgent, JUDGES_MAX, type JudgeSettings } from "../../domain/judges/judge.ts";
import { requestBody } from "../../domain/judges/prompt.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";
import type { RunStore } from "../../domain/runs/store.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { FAILURE_PAUSE_MS, type JobDeps, jobLine } from "../../runtime/loop.ts";
import { keys } from "../base/keys.ts";
import type { ScoreStore } from "../runs/scores.ts";
import { getValue, newRowName, type Store } from "../store.ts";
import { readJob, type StoredJob, writeJob } from "./rows.ts";
import { JUDGE_SOURCE, readSubject, type Subject } from "./subject.ts";

/** Calls models; see `outbound/models.ts`. */
export interface ModelCalls {
  readonly connections: readonly Connection[];
  call(
    connection: Connection,
    body: string,
    settings: Pick<JudgeSettings, "result" | "passAt">,
    signal: AbortSignal,
  ): Promise<CallOutcome>;
}

/** Dependencies of the work. */
export interface JudgeWorkDeps extends JobDeps {
  readonly store: Store;
  readonly models: ModelCalls;
  readonly cards: RateCards;
  readonly runs: Pick<RunStore, "heartbeat">;
  readonly scores: Pick<ScoreStore, "add">;
  readonly region: Region;
  /** Called with a run whose result has changed. */
  readonly onChanged: (team: TeamId, runs: readonly RunId[]) => void;
}

/** Calls of one connection at once. */
const CALLS_MAX = 4;

/** Milliseconds until a job looks again that waits for a free call of its connection. */
const BUSY_MS = 1_000;

/** Milliseconds until a job looks again whose connection this process lacks. */
const LACKING_MS = 60_000;

/** Times that the outcome of a call is stored, because its hold counts as spent otherwise. */
const STORE_ATTEMPTS = 5;

/** Creates the handler. */
export function createJudgeWork(deps: JudgeWorkDeps): WorkHandler {
  const underWay = new Map<string, number>();
  return {
    kind: "judge",
    async look(rows, _, stopping) {
      for (const row of rows) await new JudgeTask(deps, underWay, row, stopping).step();
      return [];
    },
  };
}

/** One look at a run by a judge. */
class JudgeTask {
  readonly #deps: JudgeWorkDeps;
  /** Calls under way, by connection. */
  readonly #underWay: Map<string, number>;
  readonly #row: Work;
  readonly #stopping: AbortSignal;

  constructor(
    deps: JudgeWorkDeps,
    underWay: Map<string, number>,
    row: Work,
    stopping: AbortSignal,
  ) {
    this.#deps = deps;
    this.#underWay = underWay;
    this.#row = row;
    this.#stopping = stopping;
  }

  /** Takes the next step of a job. After a conflict the row stays, and the next look reads again. */
  async step(): Promise<void> {
    const { store, now } = this.#deps;
    const stored = await readJob(store, this.#row);
    if (stored.due.versionstamp === null) return;
    const nowMs = now();
    const { job, account } = stored;
    const isClaimed = job !== null && job.claim !== null;
    const subject = isClaimed ? null : await readSubject(store, stored, nowMs);
    if (subject === "gone") return await this.#removed(stored, nowMs);
    const step = nextStep(job, subject?.fresh ?? null, account, nowMs);
    switch (step.kind) {
      case "wait":
        return await this.#write(stored, { nextAt: step.until });
      case "lost": {
        const state = { job: step.job, account };
        const name = step.claim.hold.name;
        const after = afterCall(state, name, { kind: "lost" }, null, nowMs);
        return await this.#write(stored, after ?? { nextAt: nowMs });
      }
      case "tell":
        return await this.#tell(stored, step.job);
      case "kept":
        return await this.#keep(stored, subject);
      case "call":
        if (subject !== null) await this.#call(stored, step.job, subject, nowMs);
    }
  }

  async #write(stored: StoredJob, write: Parameters<typeof writeJob>[2]): Promise<void> {
    await writeJob(this.#deps.store, stored, write);
  }

  /** Ends the look at a run whose text was judged; the result is of its new revision too. */
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
    const { cards, log, models, store } = this.#deps;
    if (fresh.end !== null) return await this.#skip(stored, job, fresh, nowMs);
    if (judge === null || prompt === null) return;
    const { settings } = judge;
    const connection = models.connections.find(({ name }) => name === settings.connection);
    if (connection === undefined) {
      const work = `Judge ${judge.slug} of team ${stored.team} waits for its connection ` +
        `${JSON.stringify(settings.connection)}, which RUNLEDGER_LLM lacks`;
      log(jobLine(nowMs, { work }));
      return await this.#write(stored, { nextAt: nowMs + LACKING_MS });
    }
    if ((this.#underWay.get(connection.name) ?? 0) >= CALLS_MAX) {
      return await this.#write(stored, { nextAt: nowMs + BUSY_MS });
    }
    const card = await cards.card({ id: stored.team });
    const row = card.find(settings.connection, settings.model, nowMs)?.row;
    if (row === undefined) {
      const unpriced = ended(fresh, { state: "skipped", reason: "unpriced" }, nowMs);
      return await this.#skip(stored, job, unpriced, nowMs);
    }
    const complaint = job.problem === null ? null : ANSWER_PROBLEMS[job.problem];
    const body = requestBody(prompt, job.form, connection.outputLimit, complaint);
    const amount = worstCase(row, utf8Bytes(body), settings.maxOutputTokens);
    const call = { name: newRowName(), amount };
    const { account } = stored;
    const claimed = claimTry({ job, account }, call, settings.dailyUsd, nowMs);
    this.#count(connection, 1);
    try {
      if (!await writeJob(store, stored, claimed) || claimed.job.claim === null) return;
      const outcome = await models.call(connection, body, settings, this.#stopping);
      await this.#store(claimed.nextAt, call.name, outcome, row);
    } finally {
      this.#count(connection, -1);
    }
  }

  #count({ name }: Connection, by: number): void {
    this.#underWay.set(name, (this.#underWay.get(name) ?? 0) + by);
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
   * Stores the outcome of a call. Other jobs change the account meanwhile, so it is read again.
   *
   * @param at time of the row of the work queue that the claim filed
   */
  async #store(at: number, name: string, outcome: CallOutcome, row: RateRow): Promise<void> {
    const { store, now } = this.#deps;
    for (let attempt = 1;; attempt++) {
      try {
        const stored = await readJob(store, { ...this.#row, at });
        const { job, account } = stored;
        if (job === null || stored.due.versionstamp === null) return;
        const after = afterCall({ job, account }, name, outcome, row, now());
        if (after === null || await writeJob(store, stored, after)) return;
      } catch (error) {
        if (!(error instanceof StorageUnavailable) || attempt >= STORE_ATTEMPTS) throw error;
        await new Promise((resolve) => setTimeout(resolve, FAILURE_PAUSE_MS));
      }
    }
  }

  /**
   * Adds the score and the cost of an ended job to the ledger.
   *
   * @param isRemoved true if the run is removed; then the job is too
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
