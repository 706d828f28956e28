/** Messages about incidents. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { IncidentFacts, Message } from "../../../domain/channels/message.ts";
import { incidentFacts } from "./incidents.ts";

const AT = Date.UTC(2026, 10, 23, 16, 25);

/** A message about an incident that was opened, with changes. */
export function aMessage(
  incident: Partial<IncidentFacts> = {},
  event: Message["event"] = "incident.opened",
): Message {
  const facts = {
    id: "inc_eu_01",
    openedAt: AT,
    value: null,
    error: "Connection to the database refused",
    runs: ["run_eu_02", "run_eu_01"] as RunId[],
  };
  return { event, at: AT, incident: incidentFacts({ ...facts, ...incident }) };
}

/** The same incident, resolved after 2 hours and 5 minutes. */
export function resolvedMessage(incident: Partial<IncidentFacts> = {}): Message {
  const ended = {
    state: "resolved",
    resolvedAt: AT + 7_500_000,
    resolvedBy: "condition",
    ...incident,
  } as const;
  return { ...aMessage(ended, "incident.resolved"), at: AT + 7_500_000 };
}

export const TEST_MESSAGE: Message = { event: "channel.test", at: AT, incident: null };

/** Text that would do harm where it is not escaped. */
export const HOSTILE =
  "<!channel> <@U1> @everyone @here <b>x</b> [a](http://evil.example) ![i](http://e.example/p.png) " +
  "&amp; \"q\" 's' \r\nBcc: x@evil.example\u0000\u202Eexe.gpj\u200B\u2028\uD800 `rm` *b*";

/** A name of 100 KB. */
export const LONG = `${'<@\u{1F600}&"\\'.repeat(100_000 / 10)}`;

export function messageOf(text: string, event: Message["event"] = "incident.opened"): Message {
  const acknowledged = { by: text, at: AT, note: text };
  const runs = Array.from({ length: 20 }, () => text as RunId);
  const group = { agent: text, customer: text, feature: text, model: text };
  const texts = { rule: text, title: text, error: text, group, runs, acknowledged };
  return aMessage({ ...texts, count: 1_234_567, value: 0.1, threshold: 1e21 }, event);
}
