/** `GET /v1/refusals`: which calls of a team were refused, and why. */
import { rawOf } from "../../../domain/core/raw_json.ts";
import {
  firstHour,
  parseRefusalsQuery,
  type Refusal,
  type RefusalKind,
  type RefusalReport,
} from "../../../domain/refusals/refusals.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";

export function listRefusals({ refusals, environment }: AppDeps): Handle {
  return async (c) => {
    const hours = parseRefusalsQuery(queryOf(c));
    if (!hours.ok) return fail(c, hours.problem);
    const nowMs = environment.now();
    const report = await refusals.read(c.get("principal").team.id, nowMs, hours.value);
    return answer(c, 200, rawOf(reportFields(report, firstHour(nowMs, hours.value), nowMs)));
  };
}

function reportFields({ groups, latest }: RefusalReport, from: number, to: number) {
  return {
    from: formatInstant(from),
    to: formatInstant(to),
    count: groups.reduce((sum, { count }) => sum + count, 0),
    groups: groups.map((group) => ({
      hour: formatInstant(group.hour),
      ...kindFields(group),
      count: group.count,
    })),
    latest: latest.map(latestFields),
  };
}

function latestFields(refusal: Refusal) {
  const { at, message, requestId, route } = refusal;
  const kind = kindFields(refusal);
  return { at: formatInstant(at), ...kind, message, request_id: requestId, route };
}

function kindFields({ code, field, agent, userAgent }: RefusalKind) {
  return { code, field, agent, user_agent: userAgent };
}
