/**
 * Titles of incidents: one sentence for people.
 *
 * @module
 */
import { cutText, printable } from "../core/text.ts";
import type { Group } from "./group.ts";
import type { Outcome } from "../outcomes/outcome.ts";
import { OTHER_GROUP, type RuleSettings } from "./rule.ts";

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

/** Words for the periods of a spend rule. */
const PERIODS = { day: "today", week: "this week", month: "this month" } as const;

/** Returns the title of a trouble of the service; the last outcome names the channels. */
function serviceTitle(last: Outcome | null): string {
  const names = last?.detail ?? null;
  const isMany = names?.includes(",") ?? false;
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
