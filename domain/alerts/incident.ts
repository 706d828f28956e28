/**
 * Incidents, their ids, titles and notes, and queries for them: one trouble from its first sign to its end, with its runs and messages (decision 83).
 *
 * @module
 */
import { type Region, type RunId, uuid7Hex } from "../core/ids.ts";
import type { IncidentFacts, IncidentState, ResolvedBy, Severity } from "../channels/message.ts";
import type { Environment } from "../core/environment.ts";
import { cutText, printable } from "../core/text.ts";
import { type Group, shareIn } from "./signal.ts";
import type { Outcome } from "../outcomes/window.ts";
import { OTHER_GROUP, type RuleSettings } from "./rule.ts";
import type { PageBounds } from "../core/query.ts";
import { z } from "zod";
import type { Body } from "../core/body.ts";
import { optional, text } from "../core/fields.ts";
import { check } from "../core/validate.ts";

/** Maximum entries of a timeline: the first and the latest are kept. */
export const TIMELINE_MAX = 200;

/** Maximum runs that an incident names: the newest. */
export const INCIDENT_RUNS_MAX = 20;

/** Maximum characters of a note. */
export const NOTE_CHARS_MAX = 500;

/** Events in the history of an incident. */
export type TimelineEntry =
  & {
    /** Time, unix milliseconds. */
    readonly at: number;
  }
  & (
    | { readonly what: "opened"; readonly count: number }
    /** One more bad outcome. */
    | { readonly what: "repeated"; readonly run: RunId | null }
    /** Messages were sent to these channels, or would have been without a silence. */
    | { readonly what: "notified" | "silenced"; readonly channels: readonly string[] }
    | { readonly what: "acknowledged"; readonly by: string; readonly note: string | null }
    | {
      readonly what: "resolved";
      readonly resolvedBy: ResolvedBy;
      readonly by: string | null;
      readonly note: string | null;
    }
    /** Entries that were left out. */
    | { readonly what: "left_out"; readonly entries: number }
  );

/** An incident as stored. */
export interface Incident extends IncidentFacts {
  /** Version of the rule that opened it. */
  readonly ruleVersion: number;
  /** Text of its group in keys; see `signal.ts`. */
  readonly groupText: string;
  /** Its history, oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Latest delivery to each channel, by slug: the next one is sent after it. */
  readonly deliveries: Readonly<Record<string, string>>;
  /** Time of the last message, unix milliseconds; null for none. */
  readonly notifiedAt: number | null;
  /** Number of bad outcomes at the last message. */
  readonly notifiedCount: number;
  /** True if a message was held back by a silence and is still to be sent (decision 78). */
  readonly isHeldBack: boolean;
}

/** Returns whether a text has the form of an incident's id. */
export function isIncidentId(text: string): boolean {
  return /^inc_(eu|us)_[0-9a-f]{32}$/.test(text);
}

/** Returns a timeline with one more entry; of too many, the first and the latest are kept. */
export function withEntry(
  timeline: readonly TimelineEntry[],
  entry: TimelineEntry,
): readonly TimelineEntry[] {
  if (timeline.length < TIMELINE_MAX) return [...timeline, entry];
  const [first, second, ...rest] = timeline;
  if (first === undefined || second === undefined) return [entry];
  const known = second.what === "left_out" ? second.entries : 0;
  // The first time, the note about what is left out needs a place of its own.
  const dropped = known === 0 ? [second, ...rest.splice(0, 1)] : rest.splice(0, 1);
  const at = dropped.at(-1)?.at ?? second.at;
  const leftOut: TimelineEntry = { at, what: "left_out", entries: known + dropped.length };
  return [first, leftOut, ...rest, entry];
}

/** Instant, and new identifiers. */
export interface Stamp {
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Generates an identifier with a prefix. */
  readonly newId: (prefix: "inc" | "whd") => string;
}

/** Largest number that the 12 bits of an identifier after its time can count to. */
const COUNTED_MAX = 0xfff;

/**
 * Creates a source of stamps, one for each decision.
 *
 * A decision that lacked rows is made again: {@link Stamp.newId} of each `begin` returns the same
 * identifiers.
 */
export function createStamps(
  region: Region,
  { now, random }: Pick<Environment, "now" | "random">,
): StampSource {
  return () => {
    const nowMs = now();
    const parts: string[] = [];
    const newPart = (n: number) => {
      const bytes = random(10);
      // Incidents of one commit are listed by their ids, in the order in which they opened.
      new DataView(bytes.buffer, bytes.byteOffset).setUint16(0, Math.min(n, COUNTED_MAX));
      return uuid7Hex(nowMs, bytes);
    };
    const begin = (): Stamp => {
      let n = 0;
      const nextPart = () => {
        const part = parts[n] ??= newPart(n);
        n++;
        return part;
      };
      return { nowMs, newId: (prefix) => `${prefix}_${region}_${nextPart()}` };
    };
    return { nowMs, begin };
  };
}

/** Returns the time of a decision and what begins it. */
export type StampSource = () => { readonly nowMs: number; readonly begin: () => Stamp };

/** Maximum characters of a name in a title. */
const NAME_CHARS_MAX = 100;

/** The subject of a title. */
export interface TitleSubject {
  /** The rule's. */
  readonly settings: Pick<RuleSettings, "condition" | "resolveAfter" | "groupBy">;
  /** Group. */
  readonly group: Group;
  /** Number of bad outcomes. */
  readonly count: number;
  /** Latest bad outcome; null for none. */
  readonly last: Outcome | null;
}

/** Returns the title of an incident: what happened, and to whom. */
export function titleOf(subject: TitleSubject): string {
  const { settings: { condition }, group, last } = subject;
  if (group.text === OTHER_GROUP) return `${OTHER_GROUP}: ${othersTitle(subject)}`;
  const who = nameOf(group);
  const value = last?.value ?? null;
  switch (condition.kind) {
    case "run_failed":
      return `${who ?? "Runs"} ${failureOf(subject)}`;
    case "check_failed":
      return `${who ?? "Runs"} ${failedChecks(subject, condition.checks)}`;
    case "run_cost":
      return `A run${ofText(who)} cost ${usdText(value)}, more than $${condition.usd}`;
    case "spend":
      return `${who ?? "The team"} spent ${usdText(value)} ${PERIODS[condition.period]}: ` +
        `the limit is $${condition.usd}`;
    case "budget":
      return budgetTitle(who ?? "The team", group, last);
    case "missed":
      return missedTitle(who ?? "An agent", last);
    case "stuck":
      return `A run${ofText(who)} is open for more than ${secondsText(condition.seconds)}`;
    case "unpriced":
      return who === null ? "A model has no price" : `${who} has no price`;
    case "quota":
      return `The team has used ${value ?? 100} % of this month's events`;
    case "service":
      return serviceTitle(last);
    default:
      return condition satisfies never;
  }
}

/** Returns what is true of each of the groups that share an incident. */
function othersTitle({ settings: { condition, groupBy }, count }: TitleSubject): string {
  const groups = `further ${groupBy ?? "group"}s`;
  const times = `${count} time${count === 1 ? "" : "s"}`;
  switch (condition.kind) {
    case "run_failed":
      return `runs of ${groups} failed or timed out ${times}`;
    case "check_failed":
      return `runs of ${groups} failed checks ${times}`;
    case "run_cost":
      return `runs of ${groups} cost more than $${condition.usd}`;
    case "spend":
      return `${groups} reached the limit of $${condition.usd} ${PERIODS[condition.period]}`;
    case "budget":
      return `further budgets or groups of them reached a mark`;
    case "missed":
      return `${groups} are down`;
    case "stuck":
      return `runs of ${groups} are open for more than ${secondsText(condition.seconds)}`;
    case "unpriced":
      return `${groups} have no price`;
    case "quota":
    case "service":
      return `${groups} have a problem`;
    default:
      return condition satisfies never;
  }
}

/** Words for the periods of spend. */
export const PERIODS = { day: "today", week: "this week", month: "this month" } as const;

/** @param last its detail has the limit and the period */
function budgetTitle(
  who: string,
  { text, group: { budget } }: Group,
  last: Outcome | null,
): string {
  const share = shareIn(text);
  const part = share === 1 ? "up" : `${Math.round(share * 1e4) / 1e2} % of`;
  const spent = `${usdText(last?.value ?? null)} of ${last?.detail ?? "its limit"}`;
  return `${who} has used ${part} the budget ${budget}: ${spent}`;
}

/** Returns the title of a trouble of the service; the last outcome names the channels or judges. */
function serviceTitle(last: Outcome | null): string {
  const names = last?.detail ?? null;
  const isMany = names?.includes(",") ?? false;
  const judges = names === null ? "A judge" : `${isMany ? "Judges" : "Judge"} ${names}`;
  switch (last?.key) {
    case "dead_stage":
      return "The processing of a run has failed for good";
    case "dead_delivery":
      return `A message${
        names === null ? "" : ` to ${isMany ? "channels" : "channel"} ${names}`
      } could not be delivered`;
    case "broken_channel":
      return `${names === null ? "A channel" : `${isMany ? "Channels" : "Channel"} ${names}`} ` +
        `${isMany ? "are broken and receive" : "is broken and receives"} no messages`;
    case "blocked_judge":
      return `${judges} ${isMany ? "are blocked and judge" : "is blocked and judges"} no runs`;
    case "judge_cap_near":
      return `${judges} ${isMany ? "have" : "has"} spent 80 % of the daily cap`;
    case "judge_cap_used_up":
      return `${judges} ${isMany ? "skip" : "skips"} runs: the daily cap is used up`;
    default:
      return "The service has a problem";
  }
}

function failureOf({ settings, count, last }: TitleSubject): string {
  const isTimeout = last?.detail === "timeout";
  if (count < 2) return isTimeout ? "timed out" : "failed";
  const { condition } = settings;
  const isMixed = isTimeout && condition.kind === "run_failed" && condition.statuses.length > 1;
  const word = isMixed ? "failed or timed out" : isTimeout ? "timed out" : "failed";
  return `${word} ${timesText(settings, count)}`;
}

/** @param checks slugs of the rule's; empty for all */
function failedChecks({ settings, count, last }: TitleSubject, checks: readonly string[]): string {
  const names = last?.detail ?? "";
  const [only] = checks;
  if (count < 2) return `failed ${names.includes(",") ? "checks" : "check"} ${names}`;
  const times = timesText(settings, count);
  if (checks.length === 1) return `failed check ${only} ${times}`;
  return `failed checks ${times}, the last time ${names}`;
}

function timesText({ resolveAfter }: TitleSubject["settings"], count: number): string {
  return `${count} times${resolveAfter === 1 ? " in a row" : ""}`;
}

function missedTitle(who: string, last: Outcome | null): string {
  switch (last?.kind) {
    case "overrun":
      return `${who} runs for too long`;
    case "bad":
      return `${who} is down: its runs failed`;
    default:
      return `${who} did not run${last?.detail ? `: ${last.detail}` : " when it was expected"}`;
  }
}

/** Returns the name of a group as a subject; null for none. */
function nameOf({ group: { agent, customer, feature, model } }: Group): string | null {
  const name = (text: string) => cutText(printable(text), NAME_CHARS_MAX);
  if (customer !== undefined) return `Customer ${name(customer)}`;
  if (feature !== undefined) return `Feature ${name(feature)}`;
  const other = agent ?? model;
  return other === undefined ? null : name(other);
}

/** Returns the subject inside a sentence. */
function ofText(who: string | null): string {
  if (who === null) return "";
  return ` of ${who.replace(/^(Customer|Feature) /, (word) => word.toLowerCase())}`;
}

function usdText(usd: number | null): string {
  return usd === null ? "more" : `$${usd < 0.01 ? usd : usd.toFixed(2)}`;
}

/** Units of durations, in seconds, from the longest. */
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

function secondsText(seconds: number): string {
  const [word, unit] = UNITS.find(([, unit]) => seconds % unit === 0) ?? ["second", 1];
  const count = seconds / unit;
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Returns the time of the latest bad outcome that an incident notes, unix milliseconds. */
export function lastBadAt({ openedAt, timeline }: Pick<Incident, "openedAt" | "timeline">): number {
  const bad = timeline.filter(({ what }) => what === "opened" || what === "repeated");
  return Math.max(openedAt, ...bad.map(({ at }) => at));
}

/** A query for incidents, latest first. */
export interface IncidentsQuery extends PageBounds<IncidentPlace> {
  /** State; `open` includes no acknowledged one; null for all. */
  readonly state: IncidentState | "unresolved" | null;
  /** Slug of the rule; null for all. */
  readonly rule: string | null;
  /** Agent; null for all. */
  readonly agent: string | null;
  /** Severity; null for all. */
  readonly severity: Severity | null;
  /** Earliest opening, inclusive, unix milliseconds. */
  readonly fromMs: number;
  /** Latest opening, exclusive, unix milliseconds. */
  readonly toMs: number;
}

/** Position of an incident in lists. */
export interface IncidentPlace {
  /** Opening, unix milliseconds. */
  readonly at: number;
  /** Identifier. */
  readonly id: string;
}

/** Incidents per page. */
export const INCIDENTS_PER_PAGE = { default: 100, max: 500 } as const;

/** Numbers of a team's incidents that are not resolved, by severity. */
export type OpenIncidents = Readonly<Record<Severity, number>>;

/**
 * Body of `POST /v1/incidents/{id}/ack` and `…/resolve`.
 *
 * @internal
 */
export const noteBody = z.object({
  note: optional(text(NOTE_CHARS_MAX)).describe("Words for the timeline and the messages."),
});

/** Parses the note of a change by hand; null for none. */
export function parseNote(body: Body): string | null {
  return check(noteBody, body.value).note || null;
}
