/** `GET /metrics`: figures for Prometheus. A team sees its own, the operator those of the process. */
import {
  gauge,
  type MetricFamily,
  METRICS_TYPE,
  metricsText,
} from "../../../domain/metrics/text.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { answerText } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";

export function getMetrics({ metrics, usage, environment }: AppDeps): Handle {
  return async (c) => {
    const principal = c.get("principal");
    // Who runs the service sees all of it; a team would learn from it what others do.
    const families = principal.grant.kind === "operator"
      ? [...metrics.requests.families(null), ...await metrics.ofProcess()]
      : [
        ...metrics.requests.families(principal.team.id),
        ...await quotaFamilies(principal.team, usage, environment.now()),
      ];
    return answerText(c, 200, metricsText(families), METRICS_TYPE);
  };
}

/** How much of the present month is used; nothing is included where everything is. */
async function quotaFamilies(
  team: Team,
  usage: AppDeps["usage"],
  nowMs: number,
): Promise<MetricFamily[]> {
  const used = await usage.used(team.id, monthOf(nowMs));
  const included = planOfTeam(team).eventsPerMonth;
  return [
    gauge("runledger_quota_used_events", "Events counted in this month, in UTC.", used),
    ...included === Infinity ? [] : [
      gauge("runledger_quota_included_events", "Events that the plan includes a month.", included),
    ],
  ];
}
