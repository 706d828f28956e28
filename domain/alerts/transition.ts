/**
 * The life of an incident: opened, repeated, acknowledged, resolved; which channels get the messages
 * about it, and what the incident remembers of them (decisions 77, 78 and 81).
 *
 * @module
 */
import type { IncidentFacts, MessageEvent, ResolvedBy } from "../channels/message.ts";
import type { MadeBy } from "../teams/team.ts";
import { type Incident, type Stamp, titleOf, withEntry } from "./incident.ts";
import { type AlertInstance, type GroupState, stateOf } from "./instance.ts";
import type { Rule, RuleCondition } from "./rule.ts";
import { type Channel, wants } from "../channels/channel.ts";
import { type Delivery, newDelivery } from "../channels/delivery.ts";
import { isMuted, type RulesByKind } from "./signal.ts";
import type { Silence } from "./silence.ts";

/** An instance with its incident after a change; `notified` is null if no incident changes. */
export interface Update {
  /** The instance after the change. */
  readonly instance: AlertInstance;
  /** The incident with its messages; null if it did not change. */
  readonly notified: Notified | null;
}

/** Context of a change. */
export interface UpdateContext extends Stamp {
  /** The rule. */
  readonly rule: Rule;
  /** Channels and silences. */
  readonly recipients: Recipients;
  /** First 200 characters of the newest bad run's error; undefined if its outcome was known. */
  readonly error?: string | null;
  /** True if what ends the trouble is a pause. */
  readonly isPaused?: boolean;
}

/**
 * Changes the incident of an instance as its outcomes require: opens it, counts on, or resolves it.
 *
 * @param incident its incident; null for none
 */
export function updateIncident(
  before: AlertInstance,
  incident: Incident | null,
  context: UpdateContext,
): Update {
  const instance: AlertInstance = { ...before, isPending: false };
  const state = stateOf(instance, context.rule);
  if (!state.isFiring) {
    const ended: AlertInstance = { ...instance, incident: null };
    if (incident === null) return { instance: ended, notified: null };
    const by = context.isPaused === true ? "paused" : "condition";
    const notified = resolved(incident, by, state.changedAt, context.recipients, context);
    return { instance: ended, notified };
  }
  if (incident !== null) {
    return { instance, notified: repeated(instance, incident, state, context) };
  }
  // A user resolved all of them.
  if (state.count === 0) return { instance, notified: null };
  const notified = opened(instance, state, context);
  const id = notified.incident.id;
  return { instance: { ...instance, incident: id }, notified };
}

function opened(
  { group, text, rule: slug, ruleVersion }: AlertInstance,
  state: GroupState,
  context: UpdateContext,
): Notified {
  const { nowMs, newId, rule, recipients, error = null } = context;
  const { condition, severity } = rule.settings;
  const facts = factsFrom({ group, text }, state, rule);
  const incident: Incident = {
    ...{ id: newId("inc"), rule: slug, ruleVersion, kind: condition.kind, severity },
    ...{ state: "open", group, groupText: text, threshold: thresholdOf(condition) },
    ...facts,
    openedAt: state.changedAt,
    ...{ resolvedAt: null, resolvedBy: null, acknowledged: null, error, isSilenced: false },
    timeline: [{ at: nowMs, what: "opened", count: state.count }],
    ...{ deliveries: {}, notifiedAt: null, notifiedCount: 0, isHeldBack: false },
  };
  return announce(incident, rule, recipients, context);
}

/** Returns an incident with what happened since; null if nothing did. It writes no message. */
function repeated(
  { group, text }: AlertInstance,
  incident: Incident,
  state: GroupState,
  { error, nowMs, rule }: UpdateContext,
): Notified | null {
  const facts = factsFrom({ group, text }, state, rule);
  const { count } = facts;
  const before = new Set(incident.runs);
  const added = facts.runs.filter((run) => !before.has(run)).reverse();
  // A close that arrives again moves its run, and only then the order changes alone.
  const isSame = count === incident.count && isSameList(facts.runs, incident.runs);
  if (isSame) return null;
  const runs = added.length > 0 ? added : count > incident.count ? [null] : [];
  const timeline = runs.reduce(
    (timeline, run) => withEntry(timeline, { at: nowMs, what: "repeated", run }),
    incident.timeline,
  );
  // The error is always that of the newest run, so that both are erased together.
  const known = facts.runs[0] === incident.runs[0] ? incident.error : null;
  const latest = error === undefined ? known : error;
  return { incident: { ...incident, ...facts, error: latest, timeline }, deliveries: [] };
}

function isSameList(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, n) => one === others[n]);
}

function factsFrom(
  group: Pick<AlertInstance, "group" | "text">,
  { count, last, runs }: GroupState,
  { settings }: Rule,
) {
  return {
    count,
    runs: runs.slice(0, count),
    value: last?.value ?? null,
    title: titleOf({ settings, group, count, last }),
  };
}

function thresholdOf(condition: RuleCondition): number | null {
  switch (condition.kind) {
    case "run_failed":
      return condition.consecutive;
    case "run_cost":
    case "spend":
      return Number(condition.usd);
    case "stuck":
      return condition.seconds;
    default:
      return null;
  }
}

/**
 * Resolves an incident.
 *
 * @param atMs time of what resolves it, unix milliseconds
 * @param made who resolved it by hand
 */
export function resolved(
  incident: Incident,
  resolvedBy: ResolvedBy,
  atMs: number,
  recipients: Recipients,
  stamp: Stamp,
  made: { readonly by: string; readonly note: string | null } | null = null,
): Notified {
  const { nowMs } = stamp;
  const { by, note } = made ?? { by: null, note: null };
  const timeline = withEntry(incident.timeline, {
    at: nowMs,
    what: "resolved",
    resolvedBy,
    by,
    note,
  });
  const ended: Incident = {
    ...incident,
    state: "resolved",
    resolvedAt: Math.max(atMs, incident.openedAt),
    resolvedBy,
    timeline,
  };
  return announceChange(ended, "incident.resolved", recipients, stamp);
}

/** Acknowledges an open incident. */
export function acknowledged(
  incident: Incident,
  note: string | null,
  { at, by }: MadeBy,
  recipients: Recipients,
  stamp: Stamp,
): Notified {
  const timeline = withEntry(incident.timeline, { at, what: "acknowledged", by, note });
  const known: Incident = {
    ...incident,
    state: "acknowledged",
    acknowledged: { by, at, note },
    timeline,
  };
  return announceChange(known, "incident.acknowledged", recipients, stamp);
}

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

/** Rules of a team, and where messages are sent. */
export interface AlertConfig extends Recipients, RulesByKind {
  /** All rules. */
  readonly rules: readonly Rule[];
}
