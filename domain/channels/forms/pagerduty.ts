/**
 * The body of PagerDuty's Events API v2.
 *
 * @module
 */
import type { PAGERDUTY_REGIONS } from "../channel.ts";
import { formatInstant } from "../../core/time.ts";
import type { Message, MessageEvent } from "../message.ts";
import { type FormContext, plainFacts, plainText, TEXT_CHARS_MAX, wordsOf } from "./words.ts";

/** Addresses by region. */
export const PAGERDUTY_URLS: Readonly<Record<typeof PAGERDUTY_REGIONS[number], string>> = {
  us: "https://events.pagerduty.com/v2/enqueue",
  eu: "https://events.eu.pagerduty.com/v2/enqueue",
};

/** A repeat of an open incident has its key, so PagerDuty adds it to the open alert. */
const ACTIONS: Readonly<Record<MessageEvent, string>> = {
  "incident.opened": "trigger",
  "incident.updated": "trigger",
  "incident.acknowledged": "acknowledge",
  "incident.resolved": "resolve",
  "channel.test": "trigger",
};

/**
 * Returns the body of a message.
 *
 * @param id identifier of the delivery, the key of a test's alert
 */
export function pagerdutyBody(
  message: Message,
  id: string,
  routingKey: string,
  context: FormContext,
): string {
  const { event, at } = message;
  const incident = message.incident && plainFacts(message.incident);
  const { headline, link, error } = wordsOf(message, context);
  const team = plainText(context.team.name, TEXT_CHARS_MAX.name);
  return JSON.stringify({
    routing_key: routingKey,
    event_action: ACTIONS[event],
    dedup_key: incident?.id ?? id,
    payload: {
      summary: headline,
      source: `Runledger, team ${team}`,
      severity: incident?.severity ?? "info",
      timestamp: formatInstant(at),
      ...(incident === null ? {} : {
        component: incident.group.agent,
        group: incident.rule,
        class: incident.kind,
        custom_details: {
          incident: incident.id,
          group: incident.group,
          count: incident.count,
          value: incident.value,
          threshold: incident.threshold,
          error,
          runs: incident.runs,
        },
      }),
    },
    client: "Runledger",
    ...(link === null
      ? {}
      : { client_url: link, links: [{ href: link, text: "Incident in Runledger" }] }),
  });
}
