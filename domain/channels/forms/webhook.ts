/**
 * The JSON body of webhooks (decision 85).
 *
 * @module
 */
import { formatInstant, formatInstantOrNull } from "../../core/time.ts";
import type { IncidentFacts, IncidentGroup, Message } from "../message.ts";
import { errorOf, type FormContext, linkOf, plainText, TEXT_CHARS_MAX } from "./words.ts";

/** Maximum bytes of a body. Its texts are cut so that none is longer. */
export const WEBHOOK_BYTES_MAX = 20_000;

/** Returns the body of a message. It is the same for all tries. */
export function webhookBody({ event, at, incident }: Message, context: FormContext): string {
  const { id, name } = context.team;
  return JSON.stringify({
    type: event,
    timestamp: formatInstant(at),
    data: {
      incident: incident === null ? null : incidentJson(incident, context),
      team: { id, name: plainText(name, TEXT_CHARS_MAX.name) },
      test: event === "channel.test",
    },
  });
}

function incidentJson(incident: IncidentFacts, context: FormContext) {
  const { openedAt, resolvedAt, acknowledged } = incident;
  return {
    id: incident.id,
    rule: plainText(incident.rule, TEXT_CHARS_MAX.id),
    kind: incident.kind,
    severity: incident.severity,
    state: incident.state,
    group: groupJson(incident.group),
    opened_at: formatInstant(openedAt),
    resolved_at: formatInstantOrNull(resolvedAt),
    resolved_by: incident.resolvedBy,
    duration_seconds: resolvedAt === null
      ? null
      : Math.max(0, Math.round((resolvedAt - openedAt) / 1_000)),
    count: incident.count,
    value: incident.value,
    threshold: incident.threshold,
    message: plainText(incident.title, TEXT_CHARS_MAX.title),
    error: errorOf(incident, context),
    run_ids: incident.runs.slice(0, 20).map((run) => plainText(run, TEXT_CHARS_MAX.id)),
    silenced: incident.isSilenced,
    acknowledged: acknowledged === null ? null : {
      by: plainText(acknowledged.by, TEXT_CHARS_MAX.id),
      at: formatInstant(acknowledged.at),
      note: acknowledged.note === null ? null : plainText(acknowledged.note, TEXT_CHARS_MAX.note),
    },
    url: linkOf(incident, context),
  };
}

/** Returns the names of a group, which may be text of a client. */
export function groupJson({ agent, customer, feature, model }: IncidentGroup): IncidentGroup {
  const names = Object.entries({ agent, customer, feature, model })
    .flatMap(([key, name]) =>
      name === undefined ? [] : [[key, plainText(name, TEXT_CHARS_MAX.name)]]
    );
  return Object.fromEntries(names);
}
