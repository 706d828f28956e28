/**
 * Outcomes of a group, and what they make: `ok` or firing (decision 74).
 *
 * Runs fail, or fail checks, some times in a row: the latest outcomes are kept in the order of
 * arrival, and what they make is computed again from all of them. So a signal that is counted late or
 * twice ends in the same state. All other kinds fire while a thing is bad, such as a monitor that is down.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { INCIDENT_RUNS_MAX } from "./incident.ts";
import { OUTCOMES_MAX, type RuleSettings } from "./rule.ts";

/** An outcome that a group keeps. */
export interface Outcome {
  /** Arrival, unix milliseconds. */
  readonly at: number;
  /** Identity within the group; a later outcome of a key replaces the earlier one. */
  readonly key: string;
  /** True if the condition was true. */
  readonly isBad: boolean;
  /** The run; null for none. */
  readonly run: RunId | null;
  /** Measured value; null for none. */
  readonly value: number | null;
  /** Words about it; null for none. */
  readonly detail: string | null;
}

/** The result of outcomes. */
export interface Tally {
  /** True from enough bad outcomes until enough good ones. */
  readonly isFiring: boolean;
  /** Bad outcomes since the last good one. */
  readonly bads: number;
  /** Good outcomes since the last bad one. */
  readonly goods: number;
  /** Bad outcomes since the first of those that made it fire, or are about to. */
  readonly count: number;
  /** Runs of these, newest first, {@link INCIDENT_RUNS_MAX} at most. */
  readonly runs: readonly RunId[];
  /** Arrival of the outcome that made it fire, or that ended it; unix milliseconds, 0 for none. */
  readonly changedAt: number;
  /** Latest bad outcome; null for none. */
  readonly last: Outcome | null;
}

/** Outcomes of a group. */
export interface Outcomes {
  /** Sums of the outcomes before the kept ones: {@link Tally} and its last outcome. */
  readonly base: Tally & Pick<Outcome, "at" | "key">;
  /** Latest outcomes in order, {@link OUTCOMES_MAX} at most, each key once. */
  readonly kept: readonly Outcome[];
}

const NO_TALLY: Tally = {
  isFiring: false,
  bads: 0,
  goods: 0,
  count: 0,
  runs: [],
  changedAt: 0,
  last: null,
};

/** No outcomes. */
export const NO_OUTCOMES: Outcomes = { base: { ...NO_TALLY, at: 0, key: "" }, kept: [] };

/** Numbers of outcomes in a row that change the state. */
export interface Thresholds {
  /** Bad outcomes that make it fire. */
  readonly consecutive: number;
  /** Good outcomes that end it. */
  readonly resolveAfter: number;
}

/** Returns the thresholds of a rule; null for a kind that fires while a thing is bad. */
export function thresholdsOf(
  { condition, resolveAfter }: Pick<RuleSettings, "condition" | "resolveAfter">,
): Thresholds | null {
  if (condition.kind !== "run_failed" && condition.kind !== "check_failed") return null;
  return { consecutive: condition.consecutive, resolveAfter };
}

/** Returns what outcomes make. */
export function tallyOf({ base, kept }: Outcomes, thresholds: Thresholds | null): Tally {
  if (thresholds === null) return { ...base, isFiring: kept.length > 0, runs: runsOf(base, kept) };
  return kept.reduce<Tally>((tally, outcome) => after(tally, outcome, thresholds), base);
}

/**
 * Returns whether outcomes need a row: it fires, or a bad outcome is among the last `consecutive`
 * ones. Later outcomes alone cannot make a group fire that needs none.
 */
export function needsRow(outcomes: Outcomes, thresholds: Thresholds | null): boolean {
  const { isFiring, bads, goods } = tallyOf(outcomes, thresholds);
  if (isFiring || thresholds === null) return isFiring;
  const hasBad = outcomes.kept.some(({ isBad }) => isBad);
  return bads > 0 || hasBad && goods < thresholds.consecutive;
}

/** Returns outcomes with one more; the same object if it changes nothing. */
export function withOutcome(
  outcomes: Outcomes,
  outcome: Outcome,
  thresholds: Thresholds | null,
): Outcomes {
  if (thresholds === null) return withBad(outcomes, outcome);
  const { base } = outcomes;
  if (compareOutcomes(outcome, base) <= 0) return outcomes;
  const kept = outcomes.kept.filter(({ key }) => key !== outcome.key);
  const index = kept.findLastIndex((each) => compareOutcomes(each, outcome) < 0) + 1;
  kept.splice(index, 0, outcome);
  const [first] = kept;
  if (kept.length <= OUTCOMES_MAX || first === undefined) return { base, kept };
  const { at, key } = first;
  return { base: { ...after(base, first, thresholds), at, key }, kept: kept.slice(1) };
}

/** Returns outcomes without that of a key; the same object if there is none. */
export function withoutOutcome(outcomes: Outcomes, key: string): Outcomes {
  const kept = outcomes.kept.filter((outcome) => outcome.key !== key);
  return kept.length === outcomes.kept.length ? outcomes : { ...outcomes, kept };
}

/** Returns outcomes with a thing that is bad. It counts once while it is, and for each of its runs. */
function withBad({ base, kept }: Outcomes, outcome: Outcome): Outcomes {
  const others = kept.filter(({ key }) => key !== outcome.key);
  const known = kept.find(({ key }) => key === outcome.key);
  const isKnownRun = outcome.run === null || runsOf(base, kept).includes(outcome.run);
  const isNew = known === undefined || !isKnownRun;
  const started = { ...base, count: 0, runs: [], changedAt: outcome.at };
  const begun = kept.length === 0
    ? started
    : known === undefined
    ? base
    : { ...base, runs: runsOf(base, [known]) };
  const last = begun.last !== null && compareOutcomes(begun.last, outcome) > 0
    ? begun.last
    : outcome;
  return {
    base: { ...begun, count: begun.count + (isNew ? 1 : 0), last },
    kept: [...others, outcome].sort(compareOutcomes).slice(-OUTCOMES_MAX),
  };
}

/**
 * Returns outcomes after a thing is good again.
 *
 * @param isAll true if a key that is not kept stands for all of them
 */
export function withGood(
  { base, kept }: Outcomes,
  { at, key }: Pick<Outcome, "at" | "key">,
  isAll: boolean,
): Outcomes {
  const isOver = kept.some((outcome) => outcome.key === key)
    ? (outcome: Outcome) => outcome.key === key
    : (outcome: Outcome) => isAll && outcome.at <= at;
  const rest = kept.filter((outcome) => !isOver(outcome));
  const runs = runsOf(base, kept.filter(isOver));
  return {
    base: { ...base, runs, changedAt: rest.length === 0 ? at : base.changedAt },
    kept: rest,
  };
}

/** Returns the runs of outcomes, newest first, before those of things that are good again. */
function runsOf({ runs }: Tally, outcomes: readonly Outcome[]): readonly RunId[] {
  return outcomes.reduce(withRun, runs);
}

function after(tally: Tally, outcome: Outcome, thresholds: Thresholds): Tally {
  if (!outcome.isBad) {
    const goods = tally.goods + 1;
    if (tally.isFiring && goods < thresholds.resolveAfter) return { ...tally, bads: 0, goods };
    const changedAt = tally.isFiring ? outcome.at : tally.changedAt;
    return { ...NO_TALLY, goods, changedAt, last: tally.last };
  }
  const bads = tally.bads + 1;
  const begins = !tally.isFiring && bads >= thresholds.consecutive;
  return {
    isFiring: tally.isFiring || begins,
    bads,
    goods: 0,
    count: tally.count + 1,
    runs: withRun(tally.runs, outcome),
    changedAt: begins ? outcome.at : tally.changedAt,
    last: outcome,
  };
}

function withRun(runs: readonly RunId[], { run }: Outcome): readonly RunId[] {
  if (run === null) return runs;
  return [run, ...runs.filter((other) => other !== run)].slice(0, INCIDENT_RUNS_MAX);
}

/** Compares outcomes by arrival; those of one instant have a fixed order. */
export function compareOutcomes(
  a: Pick<Outcome, "at" | "key">,
  b: Pick<Outcome, "at" | "key">,
): number {
  return a.at - b.at || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}
