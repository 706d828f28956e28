/**
 * Titles of incidents: one sentence for people.
 *
 * @module
 */
import { cutText, printable } from "../core/text.ts";
import type { Group } from "./group.ts";
import type { Outcome } from "../outcomes/outcome.ts";
import { OTHER_GROUP, type RuleCondition, type RuleSettings } from "./rule.ts";

/** Maximum characters of a name in a title. */
const NAME_CHARS_MAX = 100;

/** The subject of a title. */
export interface Trouble {
  /** The rule's. */
  readonly settings: Pick<RuleSettings, "condition" | "resolveAfter">;
  /** Group. */
  readonly group: Group;
  /** Number of bad outcomes. */
  readonly count: number;
  /** Latest bad outcome; null for none. */
  readonly last: Outcome | null;
}

/** Returns the title of an incident. */
export function titleOf(trouble: Trouble): string {
  const { settings: { condition }, group: { text }, last } = trouble;
  const who = text === OTHER_GROUP ? "Further groups" : nameOf(trouble.group);
  const value = last?.value ?? null;
  switch (condition.kind) {
    case "run_failed":
      return `${who ?? "Runs"} ${failureOf(trouble)}`;
    case "check_failed":
      return `${who ?? "Runs"} ${failedChecks(trouble, condition.checks)}`;
    case "run_cost":
      return `A run${ofText(who)} cost ${usdText(value)}, more than $${condition.usd}`;
    case "spend":
      return `${who ?? "The team"} spent ${usdText(value)} ${PERIODS[condition.period]}: ` +
        `the limit is $${condition.usd}`;
    case "missed":
      return missedTitle(who ?? "An agent", last?.detail ?? "missed");
    case "stuck":
      return `A run${ofText(who)} is open for more than ${secondsText(condition.seconds)}`;
    case "unpriced":
      return who === null ? "A model has no price" : `${who} has no price`;
    case "quota":
      return `The team has used ${value ?? 100} % of this month's events`;
    case "service":
      return SERVICE_TITLES[last?.detail as keyof typeof SERVICE_TITLES] ??
        "The service has a problem";
    default:
      return condition satisfies never;
  }
}

/** Words for the periods of a spend rule. */
const PERIODS = { day: "today", week: "this week", month: "this month" } as const;

/** Titles by trouble of the service. */
const SERVICE_TITLES = {
  dead_stage: "The processing of a run has failed for good",
  dead_delivery: "A message could not be delivered",
  broken_channel: "A channel is broken and receives no messages",
} as const satisfies Record<
  Extract<RuleCondition, { kind: "service" }>["what"][number],
  string
>;

function failureOf({ settings, count, last }: Trouble): string {
  const isTimeout = last?.detail === "timeout";
  if (count < 2) return isTimeout ? "timed out" : "failed";
  const { condition } = settings;
  const isMixed = isTimeout && condition.kind === "run_failed" && condition.statuses.length > 1;
  const word = isMixed ? "failed or timed out" : isTimeout ? "timed out" : "failed";
  return `${word} ${timesText(settings, count)}`;
}

/** @param checks slugs of the rule's; empty for all */
function failedChecks({ settings, count, last }: Trouble, checks: readonly string[]): string {
  const names = last?.detail ?? "";
  const [only] = checks;
  if (count < 2) return `failed ${names.includes(",") ? "checks" : "check"} ${names}`;
  const times = timesText(settings, count);
  if (checks.length === 1) return `failed check ${only} ${times}`;
  return `failed checks ${times}, the last time ${names}`;
}

function timesText({ resolveAfter }: Trouble["settings"], count: number): string {
  return `${count} times${resolveAfter === 1 ? " in a row" : ""}`;
}

function missedTitle(who: string, reason: string): string {
  switch (reason) {
    case "overrun":
      return `${who} runs for too long`;
    case "failed":
      return `${who} is down: its runs failed`;
    default:
      return `${who} did not run when it was expected`;
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
  return ` of ${who.replace(/^(Customer|Feature|Further) /, (word) => word.toLowerCase())}`;
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
