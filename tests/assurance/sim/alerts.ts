/**
 * Alert rules and incidents as the contract describes them (decisions 70 to 83): pure functions from
 * rules, runs and monitors to the incidents that are open. Imports nothing from the service.
 *
 * An incident follows from the outcomes of its group alone, in the order of their arrival, and from
 * what users did: the order in which the service learns of them must not matter.
 */
import { type GroupOutcome, RUN_OUTCOMES } from "./alert_outcomes.ts";
import { asClosed, type Fields, type Flip, type Monitors, type Run } from "./shape.ts";

/** Milliseconds without another bad outcome after which an incident ends that no good one ends. */
const QUIET_MS = 86_400_000;

/** Runs that an incident names, at most: the newest. */
const RUNS_MAX = 20;

/** The subjects of a rule; an empty list matches all. */
interface Match {
  readonly agents: readonly string[];
  readonly customers: readonly string[];
  readonly features: readonly string[];
}

/** Settings of a rule, as sent and shown. */
export interface RuleSettings {
  readonly kind: "run_failed" | "check_failed" | "run_cost" | "missed";
  readonly params: Fields;
  readonly match: Match;
  readonly group_by: "agent" | "customer" | "feature" | null;
  readonly severity: "critical" | "warning" | "info";
  readonly resolve_after: number;
  readonly renotify_seconds: number;
  readonly channels: readonly string[];
  readonly enabled: boolean;
}

/** A rule; runs that closed up to `since` do not count. */
export interface Rule {
  readonly settings: RuleSettings;
  readonly version: number;
  readonly since: number;
}

/** A user's action on the incident of a group. */
export interface Act {
  readonly at: number;
  readonly what: "acknowledge" | "resolve";
}

/** Rules by slug, and acts by rule and group. */
export interface Alerts {
  readonly rules: Readonly<Record<string, Rule>>;
  readonly acts: Readonly<Record<string, readonly Act[]>>;
}

/** An incident that is open. */
export interface Firing {
  readonly rule: string;
  /** Agent, customer or feature; null for none. */
  readonly group: string | null;
  readonly severity: string;
  readonly state: "open" | "acknowledged";
  /** Bad outcomes that opened it, and later ones. */
  readonly count: number;
  readonly runs: readonly string[];
}

/** The state that incidents follow from. */
interface Facts {
  readonly runs: Readonly<Record<string, Run>>;
  readonly monitors: Monitors;
  readonly alerts: Alerts;
}

/** Names a group of a rule among the acts. */
export function groupName(rule: string, group: string | null): string {
  return JSON.stringify([rule, group]);
}

/** Returns the incidents that are open at an instant, by rule and group. */
export function openIncidents(facts: Facts, now: number): Firing[] {
  return Object.entries(facts.alerts.rules).flatMap(([slug, rule]) => {
    if (!rule.settings.enabled) return [];
    const groups = Map.groupBy(outcomesOf(facts, rule), ([group]) => group);
    return [...groups].flatMap(([group, outcomes]) => {
      const acts = facts.alerts.acts[groupName(slug, group)] ?? [];
      const sorted = outcomes.map(([, outcome]) => outcome).sort(byArrival);
      const own = acts.filter(({ at }) => at > rule.since);
      const firing = firingOf(rule.settings, sorted, own, now);
      if (firing === null) return [];
      const runs = [...new Set(firing.bad.toReversed().flatMap(({ run }) => run ?? []))];
      return {
        ...{ rule: slug, group, severity: rule.settings.severity },
        ...{ state: firing.isKnown ? "acknowledged" as const : "open" as const },
        ...{ count: firing.bad.length, runs: runs.slice(0, RUNS_MAX) },
      };
    });
  }).sort((a, b) => groupName(a.rule, a.group) < groupName(b.rule, b.group) ? -1 : 1);
}

/** A group after some of its outcomes and acts. */
interface GroupState {
  /** True from enough bad outcomes in a row until enough good ones. */
  readonly isFiring: boolean;
  /** Bad outcomes since the last good one. */
  readonly row: readonly GroupOutcome[];
  /** Good outcomes since the last bad one. */
  readonly goods: number;
  /** Bad outcomes of the open incident; null without one. */
  readonly bad: readonly GroupOutcome[] | null;
  readonly isKnown: boolean;
}

const OK: GroupState = { isFiring: false, row: [], goods: 0, bad: null, isKnown: false };

/** Follows the outcomes and acts of a group until an instant; returns its incident, or null. */
export function firingOf(
  { kind, params, resolve_after }: Pick<RuleSettings, "kind" | "params" | "resolve_after">,
  outcomes: readonly GroupOutcome[],
  acts: readonly Act[],
  until: number,
): { readonly bad: readonly GroupOutcome[]; readonly isKnown: boolean } | null {
  const needed = Number(params.consecutive ?? 1);
  const steps = [...outcomes, ...acts].sort((a, b) => a.at - b.at);
  const last = steps.reduce((state: GroupState, step): GroupState => {
    if (step.what === "acknowledge") return { ...state, isKnown: state.bad !== null };
    if (step.what === "resolve") return { ...state, bad: null, isKnown: false };
    const now = afterQuiet(state, step.at);
    return step.what === "bad" ? afterBad(now, step) : afterGood(now, step.what === "paused");
  }, OK);
  const { bad, isKnown } = afterQuiet(last, until);
  return bad && { bad, isKnown };

  /** An incident that a user resolved is followed by the next one at the next bad outcome. */
  function afterBad(state: GroupState, outcome: GroupOutcome): GroupState {
    const { bad, isFiring } = state;
    const row = [...state.row, outcome];
    if (isFiring) return { ...state, row, goods: 0, bad: [...bad ?? [], outcome] };
    const fires = row.length >= needed;
    return { ...state, isFiring: fires, row, goods: 0, bad: fires ? row : null };
  }

  function afterGood(state: GroupState, isPaused: boolean): GroupState {
    const goods = state.goods + 1;
    if (isPaused || goods >= resolve_after) return { ...OK, goods };
    return { ...state, row: [], goods };
  }

  /** A run that cost too much stays so: the incident ends after a day without another. */
  function afterQuiet(state: GroupState, at: number): GroupState {
    const lastAt = state.row.at(-1)?.at ?? Infinity;
    return kind === "run_cost" && at >= lastAt + QUIET_MS ? OK : state;
  }
}

/** Returns what a rule counts, each with its group. */
function outcomesOf({ runs, monitors }: Facts, rule: Rule): [string | null, GroupOutcome][] {
  const { settings, since } = rule;
  if (settings.kind === "missed") return flipsOf(monitors, rule);
  const outcomeOf = RUN_OUTCOMES[settings.kind];
  return Object.entries(runs).flatMap(([id, run]): [string | null, GroupOutcome][] => {
    const { opening, closing } = asClosed(run);
    const labels = { ...opening, ...closing } as Fields;
    if (opening === undefined || !applies(settings.match, labels)) return [];
    // What a child run does, the run that started it shows.
    if (labels.parent_run_id !== undefined && settings.params.runs !== "all") return [];
    const outcome = outcomeOf(id, run, settings.params);
    if (outcome === null || outcome.at <= since) return [];
    return [[groupOf(settings, labels), outcome]];
  });
}

/** A monitor counts when it goes down, comes up again, or is paused. */
function flipsOf({ of }: Monitors, { settings, since }: Rule): [string | null, GroupOutcome][] {
  const reasons = settings.params.reasons as readonly string[];
  return Object.entries(of).flatMap(([agent, { flips }]) => {
    if (!applies(settings.match, { agent })) return [];
    return flips.flatMap((flip, n): [string | null, GroupOutcome][] => {
      const what = whatOf(flip, reasons);
      if (what === null || flip.at <= since) return [];
      const outcome = { key: `${n}`.padStart(6, "0"), at: flip.at, what, run: flip.run_id };
      return [[groupOf(settings, { agent }), outcome]];
    });
  });
}

function whatOf(
  { from, to, reason }: Flip,
  reasons: readonly string[],
): GroupOutcome["what"] | null {
  if (to === "paused") return "paused";
  if (to === "down") return reasons.includes(reason) ? "bad" : null;
  return from === "down" ? "good" : null;
}

/** Returns whether a rule applies; `*` at the end of an agent stands for any rest. */
function applies({ agents, customers, features }: Match, labels: Fields): boolean {
  const agent = String(labels.agent);
  const isAgent = (wanted: string) =>
    wanted.endsWith("*") ? agent.startsWith(wanted.slice(0, -1)) : agent === wanted;
  return (agents.length === 0 || agents.some(isAgent)) &&
    (customers.length === 0 || customers.some((wanted) => wanted === labels.customer_id)) &&
    (features.length === 0 || features.some((wanted) => wanted === labels.feature));
}

function groupOf({ group_by }: RuleSettings, labels: Fields): string | null {
  if (group_by === null) return null;
  const field = group_by === "customer" ? "customer_id" : group_by;
  return (labels[field] ?? null) as string | null;
}

function byArrival(a: GroupOutcome, b: GroupOutcome): number {
  return a.at - b.at || (a.key < b.key ? -1 : 1);
}
