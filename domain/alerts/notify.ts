/**
 * Messages about an incident: which channels get them, and what the incident remembers of them
 * (decisions 77, 78 and 81).
 *
 * @module
 */
import { wants } from "../channels/channel.ts";
import { type Delivery, newDelivery } from "../channels/delivery.ts";
import type { IncidentFacts, MessageEvent } from "../channels/message.ts";
import type { Channel } from "../channels/store.ts";
import { type Incident, type Stamp, withEntry } from "./incident.ts";
import { isMuted } from "./group.ts";
import type { Rule } from "./rule.ts";
import type { Silence } from "./silence.ts";

/** Settings that decide where messages are sent. */
export interface Recipients {
  /** All channels. */
  readonly channels: readonly Channel[];
  /** All silences. */
  readonly silences: readonly Silence[];
}

/** An incident after a change, with the messages about it. */
export interface Notified {
  /** The incident after the change. */
  readonly incident: Incident;
  /** The messages. */
  readonly deliveries: readonly Delivery[];
}

/** Returns whether a silence mutes the messages about an incident now. */
export function isSilencedNow(
  incident: Pick<Incident, "rule" | "group">,
  { silences }: Recipients,
  nowMs: number,
): boolean {
  return silences.some((silence) => isMuted(silence, incident, nowMs));
}

/**
 * Writes the messages that an open incident is due: `incident.opened` to channels that have had none,
 * else `incident.updated`. A silence holds them back.
 *
 * @param rule the rule that opened it
 */
export function announce(
  incident: Incident,
  rule: Rule,
  recipients: Recipients,
  stamp: Stamp,
): Notified {
  const { nowMs } = stamp;
  const isSilenced = isSilencedNow(incident, recipients, nowMs);
  const channels = channelsOf(rule, recipients).filter(({ slug, settings }) =>
    wants(settings, eventFor(incident, slug))
  );
  const noted = { ...incident, isSilenced, isHeldBack: isSilenced };
  if (!isSilenced) return send(noted, channels, (slug) => eventFor(incident, slug), stamp);
  const slugs = channels.map(({ slug }) => slug);
  if (slugs.length === 0) return { incident: noted, deliveries: [] };
  const entry = { at: nowMs, what: "silenced", channels: slugs } as const;
  return {
    incident: { ...noted, timeline: withEntry(incident.timeline, entry) },
    deliveries: [],
  };
}

/**
 * Writes the messages about an acknowledgement or the end of an incident, to the channels that know
 * of it. No silence holds them back: a channel that was notified of a trouble must learn that it is over.
 * People who read chat or mail are not notified of an acknowledgement.
 */
export function announceChange(
  incident: Incident,
  event: "incident.acknowledged" | "incident.resolved",
  { channels }: Recipients,
  stamp: Stamp,
): Notified {
  const notified = channels.filter(({ slug, settings }) =>
    incident.deliveries[slug] !== undefined && wants(settings, event) &&
    (event === "incident.resolved" || ACKNOWLEDGED_TYPES.has(settings.type))
  );
  return send({ ...incident, isHeldBack: false }, notified, () => event, stamp);
}

/** Types of channels that are notified of acknowledgements. */
const ACKNOWLEDGED_TYPES: ReadonlySet<Channel["settings"]["type"]> = new Set([
  "webhook",
  "pagerduty",
]);

/**
 * Returns the channels of a rule; the default ones if it names none, or none of those that it names
 * exists any longer.
 */
function channelsOf(
  { settings: { channels: named } }: Rule,
  { channels }: Recipients,
): readonly Channel[] {
  const own = channels.filter(({ slug }) => named.includes(slug));
  return own.length > 0 ? own : channels.filter(({ settings }) => settings.isDefault);
}

function eventFor({ deliveries }: Incident, channel: string): MessageEvent {
  return deliveries[channel] === undefined ? "incident.opened" : "incident.updated";
}

function send(
  incident: Incident,
  channels: readonly Channel[],
  eventOf: (channel: string) => MessageEvent,
  { nowMs, newId }: Stamp,
): Notified {
  if (channels.length === 0) return { incident, deliveries: [] };
  const slugs = channels.map(({ slug }) => slug);
  const facts = factsOf(incident);
  const deliveries = channels.map(({ slug, settings: { type } }) => {
    const event = eventOf(slug);
    const countSince = incident.count - incident.notifiedCount;
    const since = event === "incident.updated" ? { countSince } : {};
    const message = { event, at: nowMs, incident: facts, ...since };
    return newDelivery(newId("whd"), { slug, type }, message, incident.deliveries[slug] ?? null);
  });
  const latest = Object.fromEntries(deliveries.map(({ channel, id }) => [channel, id]));
  return {
    incident: {
      ...incident,
      deliveries: { ...incident.deliveries, ...latest },
      notifiedAt: nowMs,
      notifiedCount: incident.count,
      timeline: withEntry(incident.timeline, { at: nowMs, what: "notified", channels: slugs }),
    },
    deliveries,
  };
}

/** Returns what messages say about an incident. */
export function factsOf(incident: Incident): IncidentFacts {
  const { id, rule, kind, severity, state, group, openedAt, resolvedAt, resolvedBy } = incident;
  const { count, value, threshold, title, error, runs, isSilenced, acknowledged } = incident;
  return {
    ...{ id, rule, kind, severity, state, group, openedAt, resolvedAt, resolvedBy },
    ...{ count, value, threshold, title, error, runs, isSilenced, acknowledged },
  };
}
