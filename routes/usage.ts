/** `GET /v1/usage`: how much of the plan's events a team has used. It stands in the way of nothing. */
import type { Notice } from "../domain/plan/notice.ts";
import { parseUsageQuery, projectedUse, quotaState, spanOf } from "../domain/plan/quota.ts";
import { rawOf } from "../domain/input/json.ts";
import { planOf } from "../domain/plan/tiers.ts";
import { formatInstant } from "../domain/time.ts";
import { answerTagged, fail } from "./answer.ts";
import type { AppDeps, Handle } from "./context.ts";
import { queryOf } from "./query.ts";

/** Months listed. */
const MONTHS_MAX = 12;

export function getUsage({ usage, environment }: AppDeps): Handle {
  return async (c) => {
    const nowMs = environment.now();
    const query = parseUsageQuery(queryOf(c), nowMs);
    if (!query.ok) return fail(c, query.problem);
    const month = query.value;
    const { team } = c.get("principal");
    const [used, notices, months] = await Promise.all([
      usage.used(team.id, month),
      usage.notices(team.id, month),
      usage.months(team.id, MONTHS_MAX),
    ]);
    const included = planOf(team).eventsPerMonth;
    const isLimited = included !== Infinity;
    const json = rawOf({
      month,
      used,
      included: isLimited ? included : null,
      ratio: isLimited ? used / included : null,
      state: quotaState(used, included),
      projected: projectedUse(used, month, nowMs),
      resets_at: formatInstant(spanOf(month).endMs),
      notices: notices.map(noticeFields),
      months: months.map((past) => ({ ...past, state: quotaState(past.used, included) })),
    });
    return answerTagged(c, json);
  };
}

/** A notice; without `sent_at` no mail server is known to have accepted it. */
function noticeFields({ percent, sentAt }: Notice) {
  return { threshold: percent / 100, sent_at: sentAt === null ? null : formatInstant(sentAt) };
}
