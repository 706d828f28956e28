/** Endpoints of judges. */
import { z } from "zod";
import { heldOf, type JudgeAccount } from "../../../domain/judges/account.ts";
import { JUDGES } from "../../../domain/judges/judge_body.ts";
import { versionName } from "../../../domain/judges/job.ts";
import type { JudgeSettings } from "../../../domain/judges/judge.ts";
import { objectEndpoints, settingsFields, type ShownObject } from "../objects.ts";
import * as shape from "../../openapi/wire.ts";

/** The account of a judge on the current UTC day. */
interface Spending {
  readonly account: JudgeAccount;
}

type Row = ShownObject<JudgeSettings, Spending>;

/** Returns why a judge makes no calls; null if its version does. */
function blockOf({ id, version, account: { blocked } }: Row) {
  return blocked?.version === versionName({ id: id ?? "", version }) ? blocked : null;
}

const SENT = {
  connection: "openai",
  model: "gpt-5-mini",
  rubric: "Score how far {{output}} reaches {{goal}}: 1 not at all, 5 completely.",
  result: { type: "score", min: 1, max: 5 },
  pass_at: 0.7,
  agents: ["researcher"],
  statuses: ["success"],
  sample: 0.1,
  daily_usd: 1,
  max_output_tokens: 1_024,
  enabled: true,
  description: "Answers that help",
};

/** Endpoints of `/v1/judges`. */
export const JUDGE_ENDPOINTS = objectEndpoints<JudgeSettings, JudgeSettings, Spending>({
  of: JUDGES,
  tag: "Judges",
  name: "Judge",
  fields: {
    ...settingsFields(JUDGES),
    day: shape.wire<string>(z.iso.date())(({ account }) => account.day, "Current UTC day."),
    spent_usd: shape.dollarsValue(({ account }) => account.spent, "Spent on that day."),
    held_usd: shape.dollarsValue(
      ({ account }) => heldOf(account),
      "Worst case of the calls of that day that are under way, or whose answer was lost.",
    ),
    blocked_reason: shape.textValue.orNull(
      (row) => blockOf(row)?.reason,
      "Why it makes no calls but one in 10 minutes, such as `http_401`; null if it is not blocked. " +
        "A change of the judge unblocks it.",
    ),
    blocked_since: shape.instantValue.orNull((row) => blockOf(row)?.since, "Null if it is not."),
  },
  read: async ({ judgeAccounts }, team, judges) =>
    (await judgeAccounts(team, judges.map(({ slug }) => slug))).map((account) => ({ account })),
  texts: {
    put: "Lets a model score the runs that are closed from now on. The connection is one of " +
      "`RUNLEDGER_LLM`, and the rate card must have a price for the model. Another version unblocks " +
      "the judge.",
    list: "Lists judges by slug.",
    remove: "Deletes a judge. Its results stay on their runs.",
  },
  example: {
    slug: "helpful",
    sent: SENT,
    more: { account: { day: "2026-11-21", spent: 0n, holds: [], blocked: null } },
  },
});
