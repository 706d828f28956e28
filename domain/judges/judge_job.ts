/**
 * The judging of one run by one judge: its tries, its cost and its result (decisions 97 to 100).
 *
 * A try is claimed in a commit before the call, and its outcome is committed after it. All decisions
 * in between are here, as functions of what is stored, so that a process may end at any point.
 *
 * @module
 */
import type { Picodollars } from "../pricing/money.ts";
import type { RateRow } from "../pricing/rates.ts";
import type { JudgeResult } from "../runs/record.ts";
import { retryAt } from "../work/work.ts";
import {
  block,
  type Blocked,
  blockedNow,
  costOfTokens,
  endHold,
  type Hold,
  hold,
  HOLD_MS,
  type JudgeAccount,
  PROBE_MS,
  withoutRoom,
} from "./account.ts";
import type { Answer, AnswerProblem, Judgement } from "./answer.ts";
import { ANSWER_FORMS, type AnswerForm } from "./prompt.ts";

/** A try that is under way, or that a process did not end. */
export interface Claim {
  /** Its hold, which has its unique name. */
  readonly hold: Hold;
  /** Start of the call, unix milliseconds. */
  readonly at: number;
  /** Time after which it counts as spent, unix milliseconds. */
  readonly until: number;
}

/** Reasons for which a run is not judged. */
export type SkipReason =
  | "no_output"
  | "payload_removed"
  | "too_many_events"
  | "budget"
  | "too_dear"
  | "unpriced"
  | "disabled"
  | "deleted";

/** End of a job: the judgement, or why there is none. */
export type JobEnd =
  | { readonly state: "done"; readonly judgement: Judgement }
  | { readonly state: "failed" | "skipped"; readonly reason: string };

/** The text that a job sends, and the version of the judge that asks. */
export interface JobText {
  /** Identifier of the judge. */
  readonly id: string;
  /** Version of the judge. */
  readonly version: number;
  /** SHA-256 of the canonical request, hex; empty if there is none to send. */
  readonly digest: string;
}

/** A job as stored. */
export interface JudgeJob extends JobText {
  /** Revision of the run's cost at which the text was last seen. */
  readonly revision: number;
  /** Arrival of the run's close, unix milliseconds. */
  readonly closedAt: number;
  /** Model that was asked. */
  readonly model: string;
  /** Calls so far, without those of a blocked judge. */
  readonly tries: number;
  /** Picodollars of all calls. */
  readonly cost: Picodollars;
  /** True if a part of the cost is a hold, because no answer said what a call cost. */
  readonly isEstimated: boolean;
  /** Start of the first call that cost something, unix milliseconds; null for none. */
  readonly spentAt: number | null;
  /** Form of the next answer. */
  readonly form: AnswerForm;
  /** Problem of the last answer; null for none. */
  readonly problem: AnswerProblem | null;
  /** Reason of the last call without an answer, while the job goes on; null for none. */
  readonly failure: string | null;
  /** Milliseconds of the last call; null before it. */
  readonly latencyMs: number | null;
  /** Earliest time of the next call, unix milliseconds. */
  readonly notBefore: number;
  /** The try under way; null for none. */
  readonly claim: Claim | null;
  /** Null while it goes on. */
  readonly end: JobEnd | null;
  /** Time of the end, unix milliseconds; 0 until then. */
  readonly endedAt: number;
  /** True once the score and the cost are in the ledger. */
  readonly isTold: boolean;
}

/** The state of a run that a job judges, and the model that it asks. */
export type JobSubject = Pick<JudgeJob, "revision" | "closedAt" | "model">;

/** Returns a job without a try. */
export function newJob(text: JobText, subject: JobSubject): JudgeJob {
  return {
    ...text,
    ...subject,
    tries: 0,
    cost: 0n,
    isEstimated: false,
    spentAt: null,
    form: ANSWER_FORMS[0],
    problem: null,
    failure: null,
    latencyMs: null,
    notBefore: 0,
    claim: null,
    end: null,
    endedAt: 0,
    isTold: false,
  };
}

/** Next step of a job. */
export type JobStep =
  /** Nothing: the text was judged. */
  | { readonly kind: "kept" }
  /** Put the score and the cost into the ledger. */
  | { readonly kind: "tell"; readonly job: JudgeJob }
  /** Try again: a call is under way, or the judge is blocked. */
  | { readonly kind: "wait"; readonly until: number }
  /** Count the hold of a call as spent: its process ended. */
  | { readonly kind: "lost"; readonly job: JudgeJob; readonly claim: Claim }
  /** Call the model. */
  | { readonly kind: "call"; readonly job: JudgeJob };

/**
 * Returns the next step of a job.
 *
 * @param stored the job so far; null for none
 * @param fresh a job without a try for the run's text as it is now; null if there is nothing to judge
 */
export function nextStep(
  stored: JudgeJob | null,
  fresh: JudgeJob | null,
  account: JudgeAccount,
  nowMs: number,
): JobStep {
  const claim = stored?.claim ?? null;
  if (stored !== null && claim !== null) {
    // A claim that ends later was made before the clock was set back.
    const isUnderWay = nowMs < claim.until && claim.until <= nowMs + HOLD_MS;
    return isUnderWay ? { kind: "wait", until: claim.until } : { kind: "lost", job: stored, claim };
  }
  if (stored !== null && stored.end !== null && !stored.isTold) {
    return { kind: "tell", job: stored };
  }
  if (fresh === null) return { kind: "kept" };
  const isSame = stored !== null && stored.id === fresh.id && stored.version === fresh.version &&
    stored.digest === fresh.digest;
  if (isSame && stored.end !== null) return { kind: "kept" };
  if (!isSame && stored !== null && stored.end === null && stored.cost > 0n) {
    // The ledger has one entry for each text, so the former text gets its own.
    return { kind: "tell", job: ended(stored, { state: "failed", reason: "superseded" }, nowMs) };
  }
  const blocked = blockedNow(account, versionName(fresh), nowMs);
  if (blocked !== null) return { kind: "wait", until: blocked.probeAt };
  const job = isSame ? stored : fresh;
  // A longer wait was planned before the clock was set back.
  const isEarly = nowMs < job.notBefore && job.notBefore <= nowMs + RETRY_AFTER_MS_MAX;
  return isEarly ? { kind: "wait", until: job.notBefore } : { kind: "call", job };
}

/** Returns the name of a version of a judge that is unique also after it was deleted. */
export function versionName({ id, version }: Pick<JobText, "id" | "version">): string {
  return `${id} ${version}`;
}

/** Returns whether a judge is blocked: a block is of one version. */
export function isBlockedJudge(
  { id, version }: { readonly id: string | null; readonly version: number },
  blocked: Blocked | null,
): boolean {
  return blocked !== null && blocked.version === versionName({ id: id ?? "", version });
}

/** A job and the account of its judge after a step. */
export interface JobChange {
  /** The job. */
  readonly job: JudgeJob;
  /** The account. */
  readonly account: JudgeAccount;
  /** Time of the next step, unix milliseconds. */
  readonly nextAt: number;
}

/**
 * Claims a try.
 *
 * @param call unique name and worst case of the call
 * @returns the change, with the claim; a skipped job without one if the cap has no room
 */
export function claimTry(
  { job, account }: Pick<JobChange, "job" | "account">,
  call: Pick<Hold, "name" | "amount">,
  dailyUsd: number,
  nowMs: number,
): JobChange {
  const attempt = hold(account, call, dailyUsd, nowMs);
  if (typeof attempt === "string") {
    const skipped = ended(job, { state: "skipped", reason: attempt }, nowMs);
    const after = attempt === "budget" ? withoutRoom(account, dailyUsd, nowMs) : account;
    return { job: skipped, account: after, nextAt: nowMs };
  }
  const claim: Claim = { hold: attempt.hold, at: nowMs, until: nowMs + HOLD_MS };
  const { blocked } = attempt.account;
  const isProbe = blocked !== null && blocked.version === versionName(job);
  // Until its answer, no other job probes a blocked judge. Another version is not blocked.
  const probing = isProbe ? { ...blocked, probeAt: nowMs + PROBE_MS } : null;
  return {
    job: { ...job, claim, tries: job.tries + 1 },
    account: { ...attempt.account, blocked: probing },
    nextAt: claim.until,
  };
}

/** Outcome of a call. */
export type CallOutcome =
  /** It was not sent: the connection was refused. */
  | { readonly kind: "unsent" }
  /** It may have been sent, and nobody knows its cost: a time-out, a closed connection, a crash. */
  | { readonly kind: "lost" }
  /** It was answered with another status than 200, which costs nothing. */
  | {
    readonly kind: "refused";
    readonly status: number;
    readonly code: string | null;
    readonly retryAfterMs: number | null;
  }
  /** It was answered with the status 200. */
  | { readonly kind: "answered"; readonly answer: Answer };

/** Longest wait that a provider may ask for, milliseconds. */
export const RETRY_AFTER_MS_MAX = 3_600_000;

/** Status of a call that was not made, because the variable of its key has none that can be sent. */
export const NO_KEY_STATUS = 0;

/** Statuses after which no call can succeed until somebody changes something. */
const BLOCKING: ReadonlySet<number> = new Set([NO_KEY_STATUS, 401, 402, 403, 404]);

/** Reason of a judge whose model gives more tokens than asked for, so that no hold is a bound. */
export const LIMIT_IGNORED = "limit_ignored";

/**
 * Ends a claimed try.
 *
 * @param row price of the model at the claim; null if it is not known, then the hold is the cost
 * @returns null if the claim has ended: what it cost is counted
 */
export function afterCall(
  { job, account }: Pick<JobChange, "job" | "account">,
  name: string,
  outcome: CallOutcome,
  row: RateRow | null,
  nowMs: number,
): JobChange | null {
  const { claim } = job;
  if (claim === null || claim.hold.name !== name) return null;
  const price = costOf(outcome, claim.hold, row);
  const cost = price ?? claim.hold.amount;
  const called: JudgeJob = {
    ...job,
    claim: null,
    cost: job.cost + cost,
    isEstimated: job.isEstimated || price === null,
    spentAt: job.spentAt ?? (cost > 0n ? claim.at : null),
    latencyMs: Math.max(0, nowMs - claim.at),
  };
  const afterHold = endHold(account, name, cost, nowMs);
  if (outcome.kind === "answered") {
    const isIgnored = cost > claim.hold.amount;
    const after = isIgnored
      ? block(afterHold, LIMIT_IGNORED, versionName(job), nowMs)
      : { ...afterHold, blocked: null };
    return { ...afterAnswer(called, outcome.answer, nowMs), account: after };
  }
  if (outcome.kind === "refused" && isBlocking(outcome)) {
    const reason = refusalReason(outcome);
    const after = block(afterHold, reason, versionName(job), nowMs);
    const blocked = { ...called, failure: reason, tries: job.tries - 1 };
    const waiting = callAt(blocked, nowMs + PROBE_MS);
    return { ...waiting, account: after };
  }
  return { ...afterFailure(called, outcome, nowMs), account: afterHold };
}

/** Plans the next call of a job. */
function callAt(job: JudgeJob, atMs: number): Omit<JobChange, "account"> {
  return { job: { ...job, notBefore: atMs }, nextAt: atMs };
}

/** Returns the cost of a call; null if nobody knows it. */
function costOf(outcome: CallOutcome, callHold: Hold, row: RateRow | null): Picodollars | null {
  if (outcome.kind === "unsent" || outcome.kind === "refused") return 0n;
  // A hold of 0 is a price of 0.
  if (callHold.amount === 0n) return 0n;
  const tokens = outcome.kind === "answered" ? outcome.answer.tokens : null;
  return tokens === null || row === null ? null : costOfTokens(row, tokens);
}

const INSUFFICIENT = "insufficient_quota";

/** A call that was answered with another status than 200. */
export type Refusal = Extract<CallOutcome, { readonly kind: "refused" }>;

/** Returns the reason of a refused call, such as `http_401`. */
export function refusalReason({ status, code }: Refusal): string {
  if (code === INSUFFICIENT) return INSUFFICIENT;
  return status === NO_KEY_STATUS ? "no_key" : `http_${status}`;
}

function isBlocking({ status, code }: Refusal): boolean {
  return BLOCKING.has(status) || code === INSUFFICIENT;
}

function afterAnswer(job: JudgeJob, { result }: Answer, nowMs: number): Omit<JobChange, "account"> {
  if (typeof result !== "string") {
    return { job: ended(job, { state: "done", judgement: result }, nowMs), nextAt: nowMs };
  }
  const isSecond = job.problem !== null;
  if (!isSecond && retryAt("judge", job.tries, nowMs) !== "dead") {
    return callAt({ ...job, problem: result }, nowMs);
  }
  return { job: ended(job, { state: "failed", reason: result }, nowMs), nextAt: nowMs };
}

function afterFailure(
  job: JudgeJob,
  outcome: Exclude<CallOutcome, { readonly kind: "answered" }>,
  nowMs: number,
): Omit<JobChange, "account"> {
  const failed = (reason: string) => ({
    job: ended(job, { state: "failed", reason }, nowMs),
    nextAt: nowMs,
  });
  const at = retryAt("judge", job.tries, nowMs);
  if (outcome.kind !== "refused") {
    const reason = outcome.kind === "unsent" ? "unreachable" : "no_answer";
    return at === "dead" ? failed(reason) : callAt({ ...job, failure: reason }, at);
  }
  const { status, retryAfterMs } = outcome;
  const reason = refusalReason(outcome);
  if (at === "dead") return failed(reason);
  const isTransient = status === 408 || status === 429 || status >= 500;
  if (isTransient) {
    const asked = Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
    return callAt({ ...job, failure: reason }, Math.max(at, nowMs + asked));
  }
  const form = ANSWER_FORMS[ANSWER_FORMS.indexOf(job.form) + 1];
  const mayBeForm = status === 400 || status === 422;
  return mayBeForm && form !== undefined
    ? { job: { ...job, form }, nextAt: nowMs }
    : failed(reason);
}

/** Ends a job. */
export function ended(job: JudgeJob, end: JobEnd, nowMs: number): JudgeJob {
  return { ...job, claim: null, end, endedAt: nowMs };
}

/** Returns the result of a judge as records show it; a job that is null has not begun. */
export function judgeResult(judge: string, job: JudgeJob | null): JudgeResult {
  if (job === null) return { ...PENDING, judge };
  const { end, version, model, cost, isEstimated, latencyMs, tries, endedAt, revision } = job;
  const known = { judge, version, model, cost, isEstimated, latencyMs, tries, revision };
  // Until its score and its cost are in the ledger, a result is not shown.
  if (end === null || !job.isTold) return { ...PENDING, ...known, reason: job.failure };
  const ended = { ...known, state: end.state, at: endedAt };
  return end.state === "done"
    ? { ...PENDING, ...ended, ...end.judgement }
    : { ...PENDING, ...ended, reason: end.reason };
}

const PENDING: JudgeResult = {
  judge: "",
  version: null,
  state: "pending",
  reason: null,
  value: null,
  score: null,
  passed: null,
  reasoning: null,
  model: null,
  cost: 0n,
  isEstimated: false,
  latencyMs: null,
  tries: 0,
  at: null,
  revision: null,
};

/** Returns a job as it stays once the payload of its run is removed. */
export function withoutReasoning(job: JudgeJob): JudgeJob {
  if (job.end?.state !== "done") return job;
  return { ...job, end: { state: "done", judgement: { ...job.end.judgement, reasoning: "" } } };
}

/** Text whose SHA-256 identifies the entries of a job in the ledger, so that a repeat is the same. */
export function ledgerName(
  team: string,
  run: string,
  slug: string,
  { id, version, digest }: JobText,
): string {
  return [team, run, slug, id, version, digest].join("\n");
}
