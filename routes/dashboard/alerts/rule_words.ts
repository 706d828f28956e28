/** Rules in words. */
import {
  isOfRuns,
  type MISSED_REASONS,
  type Rule,
  type RuleKind,
  type RuleSettings,
  type SERVICE_TROUBLES,
} from "../../../domain/alerts/rule.ts";
import { capitalized, durationText, listed } from "../components/format.ts";

/** Labels of the kinds of rules. */
export const KIND_LABELS: Readonly<Record<RuleKind, string>> = {
  run_failed: "Failed runs",
  check_failed: "Failed checks",
  run_cost: "Cost of a run",
  spend: "Spend of a period",
  missed: "Agents that are down",
  stuck: "Runs that do not end",
  unpriced: "Models without a price",
  quota: "Events of the plan",
  service: "Trouble of the service",
};

/** Conditions of the kinds of rules, in words. */
export const KIND_WORDS: Readonly<Record<RuleKind, string>> = {
  run_failed: "Runs fail or time out, one or several in a row",
  check_failed: "Runs fail a check, one or several in a row",
  run_cost: "One run costs more than an amount",
  spend: "A day, a week or a month costs an amount",
  missed: "No run came in time, its runs fail, or a run takes too long",
  stuck: "A run is open for longer than a time",
  unpriced: "Calls count as $0 until their model has a price",
  quota: "The month's events reach a share of the plan",
  service: "A message is lost, a channel breaks, or processing a run fails",
};

/** Reasons for which an agent is down. */
export const MISSED_LABELS: Readonly<Record<typeof MISSED_REASONS[number], string>> = {
  missed: "no run came",
  failed: "its runs fail",
  overrun: "a run takes too long",
};

/** Troubles of the service. */
export const TROUBLE_LABELS: Readonly<Record<typeof SERVICE_TROUBLES[number], string>> = {
  dead_stage: "a step of processing a finished run failed for good",
  dead_delivery: "a message could not be delivered",
  broken_channel: "a channel does not work any more",
};

/** Statuses as adjectives. */
const STATUS_WORDS = { failed: "failed", timeout: "timed-out" } as const;

/** Returns the condition of a rule as a sentence, such as "3 failed runs in a row of one agent". */
export function ruleWords(settings: RuleSettings): string {
  const group = settings.groupBy === null ? "" : ` of one ${settings.groupBy}`;
  const { agents, customers, features } = settings.match;
  const only = [
    ...agents,
    ...customers.map((id) => `customer ${id}`),
    ...features.map((name) => `feature ${name}`),
  ];
  const { condition } = settings;
  const scope = isOfRuns(condition) && condition.runs === "all" ? ", child runs too" : "";
  const text = conditionWords(settings, group) + scope;
  return only.length === 0 ? text : `${text}, only ${listed(only, 3)}`;
}

/** @param group words for the group; empty for none */
function conditionWords({ condition }: RuleSettings, group: string): string {
  switch (condition.kind) {
    case "run_failed": {
      const { statuses, consecutive } = condition;
      const bad = orList(statuses.map((status) => STATUS_WORDS[status]));
      const runs = consecutive === 1 ? `A ${bad} run` : `${consecutive} ${bad} runs in a row`;
      return runs + group;
    }
    case "check_failed": {
      const { checks, severityMin, consecutive } = condition;
      const which = checks.length === 0 ? "a check" : orList(checks);
      const least = severityMin === "info" ? "" : ` (${severityMin} or higher)`;
      return consecutive === 1
        ? `A run${group} fails ${which}${least}`
        : `${consecutive} runs in a row${group} fail ${which}${least}`;
    }
    case "run_cost":
      return `A run${group} above $${condition.usd}`;
    case "spend":
      return `$${condition.usd} or more${group} in a ${condition.period}`;
    case "missed":
      return `An agent is down: ${orList(condition.reasons.map((of) => MISSED_LABELS[of]))}`;
    case "stuck":
      return `A run${group} open for more than ${durationText(condition.seconds * 1_000)}`;
    case "unpriced":
      return "A call of a model without a price";
    case "quota":
      return `${orList(condition.percents.map((of) => `${of}%`))} of the month's events`;
    case "service":
      return capitalized(orList(condition.what.map((of) => TROUBLE_LABELS[of])));
  }
}

/** Returns where the messages of a rule go. */
export function channelWords({ settings: { channels } }: Rule): string {
  return channels.length === 0 ? "default channels" : listed(channels, 3);
}

function orList(texts: readonly string[]): string {
  const last = texts.at(-1) ?? "";
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(", ")} or ${last}`;
}
