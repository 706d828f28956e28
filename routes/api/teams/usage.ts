/** `GET /v1/usage`: a team's usage of its plan's events. The quota is informational and blocks nothing. */
import type { Handler } from "../../http/admission.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { Notice, UsageStore } from "../../../domain/teams/quota_notice.ts";
import {
  monthSpanOf,
  type MonthUse,
  parseUsageQuery,
  projectedUse,
  type QuotaState,
  quotaState,
} from "../../../domain/teams/quota.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import { formatInstant, formatInstantOrNull } from "../../../domain/core/time.ts";
import { answerTagged, fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";

/** Months listed. */
const MONTHS_MAX = 12;

/** Usage of a team, with its quota state. */
export interface UsageView {
  /** `YYYY-MM` in UTC. */
  readonly month: string;
  /** Events counted in the month. */
  readonly used: number;
  /** Events included in the plan; `Infinity` without a limit. */
  readonly included: number;
  readonly state: QuotaState;
  /** Projected usage of the month at the current pace. */
  readonly projected: number;
  /** When the count resets, unix milliseconds. */
  readonly resetsAt: number;
  readonly notices: readonly Notice[];
  /** The last months with usage, latest first; states are relative to the current plan. */
  readonly months: readonly (MonthUse & { readonly state: QuotaState })[];
}

/** Reads a team's usage of a month. */
export async function readUsage(
  usage: UsageStore,
  team: Team,
  month: string,
  nowMs: number,
): Promise<UsageView> {
  const [used, notices, months] = await Promise.all([
    usage.used(team.id, month),
    usage.notices(team.id, month),
    usage.months(team.id, MONTHS_MAX),
  ]);
  const included = planOfTeam(team).eventsPerMonth;
  return {
    month,
    used,
    included,
    state: quotaState(used, included),
    projected: projectedUse(used, month, nowMs),
    resetsAt: monthSpanOf(month).endMs,
    notices,
    months: months.map((past) => ({ ...past, state: quotaState(past.used, included) })),
  };
}

export const getUsage: Handler = async (c, { usage, environment }) => {
  const nowMs = environment.now();
  const query = parseUsageQuery(queryOf(c), nowMs);
  if (!query.ok) return fail(c, query.problem);
  const view = await readUsage(usage, c.get("principal").team, query.value, nowMs);
  const { used, included, resetsAt, notices, ...rest } = view;
  const isLimited = included !== Infinity;
  const json = rawOf({
    month: rest.month,
    used,
    included: isLimited ? included : null,
    ratio: isLimited ? used / included : null,
    state: rest.state,
    projected: rest.projected,
    resets_at: formatInstant(resetsAt),
    notices: notices.map(noticeFields),
    months: rest.months,
  });
  return answerTagged(c, json);
};

/** Wire fields of a notice; `sent_at` is null unless a mail server is known to have accepted it. */
function noticeFields({ percent, sentAt }: Notice) {
  return { threshold: percent / 100, sent_at: formatInstantOrNull(sentAt) };
}
