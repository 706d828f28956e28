/** `GET /v1/usage`: a team's usage of its plan's events. The quota is informational and blocks nothing. */
import { orRefuse } from "../../../domain/core/errors.ts";
import { z } from "zod";
import type { Handler } from "../../http/admission.ts";
import type { Team } from "../../../domain/teams/team.ts";
import {
  monthSpanOf,
  type Notice,
  parseUsageQuery,
  projectedUse,
  quotaState,
  type QuotaUse,
} from "../../../domain/teams/quota.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import { answerTagged } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { month } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import type { UsageStore } from "../../../kv/teams/usage.ts";

/** Months listed. */
const MONTHS_MAX = 12;

/** Usage of a team, with its quota state. */
export type UsageView = Awaited<ReturnType<typeof readUsage>>;

/** Reads a team's usage of a month, compared with its current plan. */
export async function readQuota(usage: UsageStore, team: Team, month: string): Promise<QuotaUse> {
  const used = await usage.used(team.id, month);
  const included = planOfTeam(team).eventsPerMonth;
  return { month, used, included, state: quotaState(used, included) };
}

/** Reads a team's usage of a month, and the last months with usage, latest first. */
export async function readUsage(
  usage: UsageStore,
  team: Team,
  month: string,
  nowMs: number,
) {
  const [quota, notices, months] = await Promise.all([
    readQuota(usage, team, month),
    usage.notices(team.id, month),
    usage.months(team.id, MONTHS_MAX),
  ]);
  return {
    ...quota,
    /** Projected usage of the month at the current pace. */
    projected: projectedUse(quota.used, month, nowMs),
    resetsAt: monthSpanOf(month).endMs,
    notices,
    // States are relative to the current plan.
    months: months.map((past) => ({ ...past, state: quotaState(past.used, quota.included) })),
  };
}

export const getUsage: Handler = async (c, { usage, environment }) => {
  const nowMs = environment.now();
  const query = orRefuse(parseUsageQuery(queryOf(c), nowMs));
  const view = await readUsage(usage, c.get("principal").team, query, nowMs);
  return answerTagged(c, usageAnswer.write(view));
};

const state = shape.oneOfValue("QuotaState", ["normal", "heads_up", "over"]);

const STATE = "`normal` below 80 %, `heads_up` from 80 %, `over` from 100 %.";

const notice = shape.objectValue<Notice>("QuotaNotice", {
  threshold: shape.wire(z.number())(({ percent }) => percent / 100),
  // Null unless a mail server is known to have accepted it.
  sent_at: shape.instantValue.orNull("sentAt"),
});

const monthUsage = shape.objectValue<UsageView["months"][number]>("MonthUsage", {
  month: shape.wire(month)("month"),
  used: shape.countValue("used"),
  state: state("state", STATE),
});

/** Usage of a month. */
export const usageAnswer = shape.objectValue<UsageView>("Usage", {
  month: shape.wire(month)("month"),
  used: shape.countValue("used", "Events counted in the month, by time of arrival."),
  included: shape.countValue.orNull(
    ({ included }) => included === Infinity ? null : included,
    "Events included in the plan; null without a limit.",
  ),
  ratio: shape.wire(z.number().meta({ minimum: 0 })).orNull(({ used, included }) =>
    included === Infinity ? null : used / included
  ),
  state: state("state", STATE),
  projected: shape.countValue(
    "projected",
    "Projection for the full month: `used` divided by the elapsed share of it.",
  ),
  resets_at: shape.instantValue("resetsAt"),
  notices: shape.listValue(notice)("notices"),
  months: shape.listValue(monthUsage)("months"),
});
