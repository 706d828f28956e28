/** Endpoints of judges. */
import { z } from "zod";
import { existing } from "../../../domain/core/errors.ts";
import { heldAmount } from "../../../domain/judges/account.ts";
import { JUDGES } from "../../../domain/judges/judge_body.ts";
import type { JudgeSettings } from "../../../domain/judges/judge.ts";
import {
  JUDGE_TRIAL,
  judgeTrialBody,
  type JudgeTrialResult,
  parseJudgeTrial,
  TRIAL_ENDED,
  type TriedRun,
} from "../../../domain/judges/judge_trial.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { JudgeState } from "../../../kv/judges/judge_states.ts";
import { teamKey } from "../../http/access.ts";
import { endpoints } from "../../openapi/describe.ts";
import { returns } from "../answers.ts";
import { JUDGE_RESULT } from "../runs/run_json.ts";
import { NO_SUCH_RUN } from "../runs/runs.ts";
import { objectEndpoints, settingsFields, type ShownObject } from "../objects.ts";
import * as shape from "../../openapi/wire.ts";

/** Returns what keeps a judge from calling its model; null if it calls, or if `enabled` says it. */
function blockOf({ obstacle }: ShownObject<JudgeSettings, JudgeState>) {
  return obstacle?.kind === "disabled" ? null : obstacle;
}

const OBJECTS = objectEndpoints<JudgeSettings, JudgeSettings, JudgeState>({
  of: JUDGES,
  tag: "Judges",
  fields: {
    ...settingsFields(JUDGES),
    day: shape.wire<string>(z.iso.date())(({ account }) => account.day, "Current UTC day."),
    spent_usd: shape.dollars(({ account }) => account.spent, "Spent on that day."),
    held_usd: shape.dollars(
      ({ account }) => heldAmount(account),
      "Worst case of the calls of that day that are under way, or whose answer was lost.",
    ),
    blocked_reason: shape.text.orNull(
      (row) => blockOf(row)?.reason,
      "Why it makes no calls; null if it makes them, or is disabled. `no_connection`: this service " +
        "lacks its connection, and its runs wait. `unpriced`, `too_dear`, `budget`: its runs are " +
        "skipped. Any other, such as `http_401`: it makes one call in 10 minutes, and a change of " +
        "the judge unblocks it.",
    ),
    blocked_since: shape.instant.orNull(
      (row) => blockOf(row)?.since,
      "Null if it makes calls, or if the time is not known.",
    ),
  },
  read: ({ judgeStates }, team, judges) => judgeStates(team, judges),
  texts: {
    put: "Lets a model score the runs that are closed from now on. The connection is one of " +
      "`RUNLEDGER_LLM`, and the rate card must have a price for the model. Another version unblocks " +
      "the judge.",
    remove: "Deletes a judge. Its results stay on their runs.",
  },
});

const triedRun = shape.object<TriedRun>("TriedRun", {
  run_id: shape.id("run")("run"),
  ...JUDGE_RESULT,
  cost_max_usd: shape.dollars.orNull(
    "costMax",
    "The most that its call can cost; null for a run that is skipped.",
  ),
});

/** Response of `POST /v1/judges/try`. */
const trialValue = shape.object<JudgeTrialResult>("JudgeTrial", {
  runs: shape.list(triedRun)("runs", "The runs, newest first or as named."),
  cost_max_usd: shape.dollars(
    ({ runs }) => sum(runs.map(({ costMax }) => costMax ?? 0n)),
    "The most that all calls can cost.",
  ),
  cost_usd: shape.dollars(({ runs }) => sum(runs.map(({ cost }) => cost)), "Cost of the calls."),
  left_usd: shape.dollars("left", "What the judge may still spend on this UTC day."),
});

function sum(amounts: readonly Picodollars[]): Picodollars {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** Endpoints of `/v1/judges`. */
export const JUDGE_ENDPOINTS = [
  ...OBJECTS,
  ...endpoints("Judges", {
    tryJudge: {
      route: "POST /v1/judges/try",
      access: teamKey("admin"),
      ...returns("The results.", trialValue, async (c, { judgeTrials }, { team }) => {
        const trial = parseJudgeTrial(c.get("body"));
        return existing(await judgeTrials.try(team, trial), NO_SUCH_RUN);
      }),
      summary: "Try a judge",
      description: "Judges stored runs and stores no result on them. The calls are paid from the " +
        "judge's cap and are in the ledger. With `estimate` it calls no model. It takes " +
        `${JUDGE_TRIAL.msMax / 1_000} s at most and repeats nothing: a call that has not ended ` +
        `then is \`${TRIAL_ENDED}\` and costs its worst case.`,
      body: judgeTrialBody.meta({ id: "JudgeTrialRequest" }),
      errors: ["missing_field", "not_found"],
      idempotency: "none",
    },
  }),
];
