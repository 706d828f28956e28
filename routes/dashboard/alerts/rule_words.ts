/** Rules in words. */
import {
  isOfRuns,
  type MISSED_REASONS,
  type Rule,
  type RuleKind,
  type RuleSettings,
  type SERVICE_PROBLEMS,
} from "../../../domain/alerts/rule.ts";
import { capitalized, durationText, listed } from "../components/format.ts";

/** Name and explanation of each kind of rule. */
export const RULE_KIND_WORDS: Readonly<Record<RuleKind, readonly [name: string, words: string]>> = {
  run_failed: [
    "Failed runs",
    "Counts runs that end badly, one after the other. It resolves when runs end well again.",
  ],
  check_failed: [
    "Failed checks",
    "Counts runs whose checks fail. Create checks first: they say what a good run is.",
  ],
  run_cost: [
    "Cost of a run",
    "Opens as soon as one run costs more than a limit, also while the run is open.",
  ],
  spend: [
    "Spend of a period",
    "Adds up what an agent, a customer, a feature or a model costs in a day, a week or a month.",
  ],
  budget: [
    "Marks of budgets",
    "Opens for each mark of a budget that its spend reaches, once a period.",
  ],
  missed: [
    "Agents that are down",
    "Opens when a monitor finds its agent down. An agent without a monitor is never down.",
  ],
  stuck: [
    "Runs that do not end",
    "Opens when a run is open for too long. It resolves when the run is closed.",
  ],
  unpriced: [
    "Models without a price",
    "A call of a model that has no price: its cost is missing until you set one.",
  ],
  quota: [
    "Events of the plan",
    "Opens when the events of the month reach a share of what the plan includes.",
  ],
  service: [
    "Trouble of the service",
    "Opens when runs are not processed, or when messages do not arrive.",
  ],
};

/** Reasons for which an agent is down. */
export const MISSED_LABELS: Readonly<Record<typeof MISSED_REASONS[number], string>> = {
  missed: "no run came",
  failed: "its runs fail",
  overrun: "a run takes too long",
};

export const TROUBLE_LABELS: Readonly<Record<typeof SERVICE_PROBLEMS[number], string>> = {
  dead_stage: "a step of processing a finished run failed for good",
  dead_delivery: "a message could not be delivered",
  broken_channel: "a channel does not work any more",
  blocked_judge: "a judge is blocked",
  judge_cap_near: "a judge has spent 80 % of its daily cap",
  judge_cap_used_up: "a judge skips runs, because its daily cap is used up",
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
    case "budget": {
      const { budgets } = condition;
      return budgets.length === 0
        ? "A budget reaches a mark"
        : `The budget ${orList(budgets)} reaches a mark`;
    }
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
