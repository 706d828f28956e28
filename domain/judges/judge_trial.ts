/**
 * Trials of judges over stored runs: without a result on the runs, but with their cost (decision 104).
 *
 * A try of a trial is claimed and ended like that of a job, so the cap holds and a crash is paid for.
 * A trial neither blocks a judge nor unblocks it, and repeats no failed call.
 *
 * @module
 */
import { z } from "zod";
import { whole } from "../config/body.ts";
import { CONFIG_SLUG } from "../config/objects.ts";
import type { Body } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import { optional, runId } from "../core/fields.ts";
import type { RunId } from "../core/ids.ts";
import { isObject } from "../core/raw_json.ts";
import { check } from "../core/validate.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { JudgeResult } from "../runs/record.ts";
import { HOLD_MS } from "./account.ts";
import {
  afterCall,
  type CallOutcome,
  claimTry,
  ended,
  type JobChange,
  type JudgeJob,
  LIMIT_IGNORED,
  refusalReason,
} from "./judge_job.ts";
import { judgeBody, parseJudge } from "./judge_body.ts";
import type { JudgeSettings } from "./judge.ts";

/** Bounds of a trial: its runs, its time in milliseconds, and its calls at once. */
export const JUDGE_TRIAL = { runsMax: 10, msMax: 60_000, callsMax: 4 } as const;

/** Reason of a run whose call did not end within a trial. */
export const TRIAL_ENDED = "timeout";

/** A judge to try. */
export interface JudgeTrial {
  /** Settings of the judge; `sample` and `enabled` have no effect. */
  readonly settings: JudgeSettings;
  /** Slug whose account pays. */
  readonly slug: string;
  /** The runs; else the latest `last` closed ones that the judge applies to. */
  readonly runs: readonly RunId[] | { readonly last: number };
  /** True to call no model. */
  readonly isEstimate: boolean;
}

/** A run of a trial. */
export interface TriedRun extends JudgeResult {
  /** The run. */
  readonly run: RunId;
  /** The most that its call can cost, in picodollars; null for one that is skipped. */
  readonly costMax: Picodollars | null;
}

/** Result of a trial. */
export interface JudgeTrialResult {
  /** The runs, newest first or as named. */
  readonly runs: readonly TriedRun[];
  /** Picodollars that the judge may still spend on the current UTC day. */
  readonly left: Picodollars;
}

const JUDGE = 'an object with "connection", "model", "rubric" and "result"';
const SLUG = "a slug of a judge";
const RUNS = `a list of 1 to ${JUDGE_TRIAL.runsMax} ids of runs`;

/** Slug whose account pays for the trials of a judge that has none yet. */
const UNNAMED = "try";

const slugBody = z.object({
  slug: optional(z.string(SLUG).regex(CONFIG_SLUG, SLUG)).describe(
    `Its slug: the trial costs what this judge may spend. \`${UNNAMED}\` when absent.`,
  ),
});

/**
 * Body of `POST /v1/judges/try`.
 *
 * @internal
 */
export const judgeTrialBody = z.object({
  judge: judgeBody.extend(slugBody.shape).meta({ id: "TriedJudge" })
    .describe("The judge as in its PUT; `sample`, `version` and `enabled` have no effect."),
  last: optional(whole({ min: 1, max: JUDGE_TRIAL.runsMax })).describe(
    "Number of the latest closed runs that the judge applies to; " +
      `${JUDGE_TRIAL.runsMax} when absent.`,
  ),
  run_ids: optional(z.array(runId, RUNS).min(1, RUNS).max(JUDGE_TRIAL.runsMax, RUNS))
    .describe("The runs to judge, instead of `last`."),
  estimate: optional(z.boolean("true or false"))
    .describe("True to return the most that the trial can cost, and to call no model."),
});

/** {@link judgeTrialBody} before the judge is validated. */
const outerBody = judgeTrialBody.extend({
  judge: z.custom<Body["value"]>(isObject, JUDGE),
});

/** Validates the body of `POST /v1/judges/try`; connection and price are checked apart. */
export function parseJudgeTrial({ value }: Pick<Body, "value">): JudgeTrial {
  const { judge: { slug: sentSlug, ...sent }, last, run_ids: ids, estimate } = check(
    outerBody,
    value,
  );
  const { slug = UNNAMED } = check(slugBody, { slug: sentSlug }, "judge.");
  const { settings } = parseJudge(sent, "judge.");
  if (ids !== undefined && last !== undefined) {
    return refuse("invalid_field", 'Field "run_ids" must be absent with "last"', "run_ids");
  }
  const runs = ids === undefined ? { last: last ?? JUDGE_TRIAL.runsMax } : [...new Set(ids)];
  return { settings, slug, runs, isEstimate: estimate ?? false };
}

/** Claims a try of a trial; see {@link claimTry}. */
export function claimTrial(
  state: Pick<JobChange, "job" | "account">,
  ...rest: Parameters<typeof claimTry> extends [unknown, ...infer Rest] ? Rest : never
): JobChange {
  const claimed = claimTry(state, ...rest);
  return { ...claimed, account: { ...claimed.account, blocked: state.account.blocked } };
}

/**
 * Ends a try of a trial; see {@link afterCall}. Only a form that the server does not know is replaced
 * by another call.
 */
export function afterTrial(
  ...[state, name, outcome, row, nowMs]: Parameters<typeof afterCall>
): JobChange | null {
  const after = afterCall(state, name, outcome, row, nowMs);
  if (after === null) return null;
  const account = { ...after.account, blocked: state.account.blocked };
  if (after.job.form !== state.job.form) return { ...after, account, nextAt: nowMs + HOLD_MS };
  const isIgnored = after.account.blocked?.reason === LIMIT_IGNORED;
  const isEnded = after.job.end !== null && !isIgnored;
  const reason = isIgnored ? LIMIT_IGNORED : reasonOf(after.job, outcome);
  const job = isEnded ? after.job : ended(after.job, { state: "failed", reason }, nowMs);
  return { job, account, nextAt: nowMs };
}

function reasonOf({ problem }: JudgeJob, outcome: CallOutcome): string {
  if (outcome.kind === "refused") return refusalReason(outcome);
  if (outcome.kind === "unsent") return "unreachable";
  return outcome.kind === "lost" || problem === null ? TRIAL_ENDED : problem;
}
