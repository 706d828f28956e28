/**
 * The JSON body of webhooks.
 *
 * @module
 */
import { formatInstant, formatInstantOrNull } from "../../core/time.ts";
import type { IncidentFacts, Message } from "../message.ts";
import {
  errorOf,
  type FormContext,
  incidentUrl,
  plainFacts,
  plainText,
  TEXT_CHARS_MAX,
} from "./words.ts";

/** Maximum bytes of a body. Its texts are cut so that none is longer. */
export const WEBHOOK_BYTES_MAX = 20_000;

/** Returns the body of a message. It is the same for all tries. */
export function webhookBody(message: Message, context: FormContext): string {
  const { event, at, incident, countSince } = message;
  const { team, publicUrl } = context;
  return JSON.stringify({
    type: event,
    timestamp: formatInstant(at),
    data: {
      incident: incident && {
        ...incidentJson(plainFacts(incident), publicUrl),
        error: errorOf(incident, context),
        ...countSince === undefined ? {} : { count_since: countSince },
      },
      team: { id: team.id, name: plainText(team.name, TEXT_CHARS_MAX.name) },
      test: event === "channel.test",
    },
  });
}

/**
 * An incident, as sent and returned; instants are RFC 3339 texts.
 *
 * @internal
 */
export type IncidentJson = ReturnType<typeof incidentJson>;

/**
 * Returns the JSON of an incident.
 *
 * @param publicUrl origin of links; null for no links
 * @internal
 */
export function incidentJson(facts: IncidentFacts, publicUrl: string | null) {
  const { openedAt, resolvedAt, acknowledged } = facts;
  return {
    id: facts.id,
    rule: facts.rule,
    kind: facts.kind,
    severity: facts.severity,
    state: facts.state,
    group: facts.group,
    opened_at: formatInstant(openedAt),
    resolved_at: formatInstantOrNull(resolvedAt),
    resolved_by: facts.resolvedBy,
    duration_seconds: resolvedAt === null
      ? null
      : Math.max(0, Math.round((resolvedAt - openedAt) / 1_000)),
    count: facts.count,
    value: facts.value,
    threshold: facts.threshold,
    message: facts.title,
    run_ids: facts.runs,
    silenced: facts.isSilenced,
    acknowledged: acknowledged && { ...acknowledged, at: formatInstant(acknowledged.at) },
    url: incidentUrl(facts.id, publicUrl),
  };
}
