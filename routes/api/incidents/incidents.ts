/** Requests of `/v1/incidents`, and their refusals. */
import { INCIDENTS_PER_PAGE, type IncidentsQuery } from "../../../domain/alerts/store.ts";
import { INCIDENT_STATES, SEVERITIES } from "../../../domain/channels/message.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import { notFound, type Parsed } from "../../../domain/core/errors.ts";
import { readQuery, refuseParameter } from "../../../domain/core/query.ts";
import { isAgent } from "../../../domain/core/rules.ts";
import { parseTimeCursor } from "../../http/cursor.ts";

/** The same error for an unknown incident and one of another team. */
export const NO_SUCH_INCIDENT = notFound("No such incident: list the incidents for their ids");

/** Values of the parameter `state`. */
export const STATE_CHOICES = [...INCIDENT_STATES, "unresolved"] as const;

/** Parses the query of a list of incidents. */
export function parseIncidentsQuery(text: string): Parsed<IncidentsQuery> {
  return readQuery(text, (query) => {
    const page = query.page(
      (cursor) => parseTimeCursor(cursor, "inc"),
      INCIDENTS_PER_PAGE,
    );
    const fromMs = query.instant("from") ?? 0;
    const toMs = query.instant("to") ?? Infinity;
    if (toMs < fromMs) return refuseParameter("to", '"to" must not be before "from"');
    const rule = query.text("rule") ?? null;
    if (rule !== null && !CONFIG_SLUG.test(rule)) {
      return refuseParameter("rule", '"rule" must be the slug of a rule');
    }
    const agent = query.text("agent") ?? null;
    if (agent !== null && !isAgent(agent)) {
      return refuseParameter("agent", '"agent" must be the slug of an agent');
    }
    const state = query.choice("state", STATE_CHOICES) ?? null;
    const severity = query.choice("severity", SEVERITIES) ?? null;
    return { ...page, state, rule, agent, severity, fromMs, toMs };
  });
}
