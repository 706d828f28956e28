/**
 * The JSON body of webhooks (decision 85).
 *
 * @module
 */
import type { RunId } from "../../core/ids.ts";
import { formatInstant } from "../../core/time.ts";
import type { IncidentFacts, IncidentGroup, Message } from "../message.ts";
import { incidentJson } from "./incident_json.ts";
import { errorOf, type FormContext, plainText, TEXT_CHARS_MAX } from "./words.ts";

/** Maximum bytes of a body. Its texts are cut so that none is longer. */
export const WEBHOOK_BYTES_MAX = 20_000;

/** Returns the body of a message. It is the same for all tries. */
export function webhookBody({ event, at, incident }: Message, context: FormContext): string {
  const { id, name } = context.team;
  return JSON.stringify({
    type: event,
    timestamp: formatInstant(at),
    data: {
      incident: incident && {
        ...incidentJson(plainFacts(incident), context.publicUrl),
        error: errorOf(incident, context),
      },
      team: { id, name: plainText(name, TEXT_CHARS_MAX.name) },
      test: event === "channel.test",
    },
  });
}

/** Returns facts whose texts are plain and short. */
function plainFacts(incident: IncidentFacts): IncidentFacts {
  const { acknowledged } = incident;
  return {
    ...incident,
    id: plainText(incident.id, TEXT_CHARS_MAX.id),
    rule: plainText(incident.rule, TEXT_CHARS_MAX.id),
    group: groupJson(incident.group),
    title: plainText(incident.title, TEXT_CHARS_MAX.title),
    runs: incident.runs.slice(0, 20).map((run) => plainText(run, TEXT_CHARS_MAX.id) as RunId),
    acknowledged: acknowledged && {
      by: plainText(acknowledged.by, TEXT_CHARS_MAX.id),
      at: acknowledged.at,
      note: acknowledged.note === null ? null : plainText(acknowledged.note, TEXT_CHARS_MAX.note),
    },
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
