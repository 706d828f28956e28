/**
 * Messages in words, before they are escaped for the form of a channel, and the JSON body of webhooks.
 *
 * Names, errors and notes come from strangers: {@link plainText} removes what could hide or reorder
 * text, and each form escapes the rest and cuts it to its limits.
 *
 * @module
 */
import { cutText, printable } from "../../core/text.ts";
import { durationOf, formatInstant, formatInstantOrNull } from "../../core/time.ts";
import type { RunId } from "../../core/ids.ts";
import type { Team } from "../../teams/team.ts";
import type { IncidentFacts, Message, ResolvedBy } from "../message.ts";

/** Values that all forms need in addition to messages. */
export interface FormContext {
  /** The team. */
  readonly team: Pick<Team, "id" | "name">;
  /** Origin of links; null for no links. */
  readonly publicUrl: string | null;
  /** False to leave out the errors of runs. */
  readonly includeError: boolean;
}

/** Words of a message. All are plain, on one line, and not escaped. */
export interface Words {
  /** The event, in words. */
  readonly headline: string;
  /** Since when and how many times, and what is known of the end. */
  readonly facts: readonly string[];
  /** Error of the latest run; null for none. */
  readonly error: string | null;
  /** Address of the incident; null for none. */
  readonly link: string | null;
}

/** Maximum characters of texts, in all forms. */
export const TEXT_CHARS_MAX = { id: 80, name: 200, title: 300, error: 200, note: 200 } as const;

/** Maximum runs of a message. */
const RUNS_MAX = 20;

/** Characters that reorder a line, have no width, or have no meaning. */
const INVISIBLE = /[\p{Cf}\p{Co}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{fe00}-\u{fe0f}]/gu;

/** Returns a text on one line, without control, bidirectional and invisible characters. */
export function plainText(text: string, charsMax: number): string {
  // Cut before, since names may be very long, and after: some characters are removed.
  const short = printable(cutText(text, 4 * charsMax)).replace(INVISIBLE, "");
  const words = short.replace(/\s+/g, " ").trim();
  const cut = cutText(words, charsMax);
  return cut === words ? words : `${cutText(words, charsMax - 1)}…`;
}

/** Returns facts whose texts are plain and cut; the error is left as it is. */
export function plainFacts(facts: IncidentFacts): IncidentFacts {
  const { id, name, title, note } = TEXT_CHARS_MAX;
  const { acknowledged } = facts;
  const group = Object.entries(facts.group).map(([key, text]) => [key, plainText(text, name)]);
  return {
    ...facts,
    id: plainText(facts.id, id),
    rule: plainText(facts.rule, id),
    group: Object.fromEntries(group),
    title: plainText(facts.title, title),
    runs: facts.runs.slice(0, RUNS_MAX).map((run) => plainText(run, id) as RunId),
    acknowledged: acknowledged && {
      by: plainText(acknowledged.by, id),
      at: acknowledged.at,
      note: acknowledged.note && plainText(acknowledged.note, note),
    },
  };
}

/** Returns the words of a message. */
export function wordsOf(message: Message, context: FormContext): Words {
  const { event, incident: facts } = message;
  if (facts === null) return testWords(context);
  const incident = plainFacts(facts);
  const before = {
    "incident.opened": "",
    "incident.updated": "Still open: ",
    "incident.acknowledged": "Acknowledged: ",
    "incident.resolved": "Resolved: ",
    "channel.test": "Test: ",
  }[event];
  const error = errorOf(incident, context);
  return {
    headline: before + headlineOf({ title: incident.title, error }),
    facts: factsOf(incident, message),
    error,
    link: incidentUrl(incident.id, context.publicUrl),
  };
}

/** Characters of an error in a headline. */
const CAUSE_CHARS_MAX = 80;

/** Returns what happened, and why if that is known. */
export function headlineOf({ title, error }: Pick<IncidentFacts, "title" | "error">): string {
  return error === null ? title : `${title}: ${plainText(error, CAUSE_CHARS_MAX)}`;
}

function testWords({ team }: FormContext): Words {
  return {
    headline: "Test of this channel: messages about incidents arrive here",
    facts: [`Team ${plainText(team.name, TEXT_CHARS_MAX.name)}`],
    error: null,
    link: null,
  };
}

function factsOf(incident: IncidentFacts, { event, countSince }: Message): string[] {
  const { openedAt, resolvedAt, resolvedBy, count, acknowledged, runs, id } = incident;
  const times = timesOf(count);
  const facts = [`Severity: ${incident.severity}`];
  if (resolvedAt === null) facts.push(`Since ${minuteOf(openedAt)}, ${times} so far`);
  else {
    const length = durationOf(resolvedAt - openedAt);
    facts.push(`From ${minuteOf(openedAt)} to ${minuteOf(resolvedAt)} (${length}), ${times}`);
    if (resolvedBy !== null) facts.push(`Ended because ${ENDS[resolvedBy]}`);
  }
  if (countSince !== undefined) {
    facts.push(`${countSince === 0 ? "Nothing new" : timesOf(countSince)} since the last message`);
  }
  const note = acknowledged?.note ?? "";
  if (event === "incident.acknowledged" && note !== "") facts.push(`Note: ${note}`);
  const [latest] = runs;
  if (latest !== undefined) facts.push(`Latest run: ${latest}`);
  facts.push(`Incident ${id}`);
  return facts;
}

function timesOf(count: number): string {
  return `${count} ${count === 1 ? "time" : "times"}`;
}

const ENDS: Readonly<Record<ResolvedBy, string>> = {
  condition: "the condition is no longer true",
  quiet: "nothing happened for a day",
  hand: "somebody resolved it",
  rule: "the rule was changed or deleted",
  paused: "the monitor was paused",
};

/** Returns the error to send; null if there is none or the channel leaves it out. */
export function errorOf({ error }: IncidentFacts, { includeError }: FormContext): string | null {
  const text = includeError && error !== null ? plainText(error, TEXT_CHARS_MAX.error) : "";
  return text === "" ? null : text;
}

/** Formats an instant for people, in UTC. */
export function minuteOf(ms: number): string {
  return `${formatInstant(ms).slice(0, 16).replace("T", " ")} UTC`;
}

/**
 * Returns the address of an incident's page; null without an origin.
 *
 * @param publicUrl origin of links
 */
export function incidentUrl(id: string, publicUrl: string | null): string | null {
  return publicUrl && `${publicUrl}/dashboard/alerts/incidents/${encodeURIComponent(id)}`;
}

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
