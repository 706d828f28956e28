/**
 * The JSON body of webhooks.
 *
 * @module
 */
import { formatInstant } from "../../core/time.ts";
import type { Message } from "../message.ts";
import { incidentJson } from "./incident_json.ts";
import { errorOf, type FormContext, plainFacts, plainText, TEXT_CHARS_MAX } from "./words.ts";

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
