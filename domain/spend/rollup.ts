/**
 * Roll-ups: what the runs of a UTC day come to, by each thing people group spend by.
 *
 * A roll-up only ever changes by the difference between what a run contributed before and what it
 * contributes now, in the commit that stores the latter. So it is always exactly the sum of its runs.
 *
 * @module
 */
import type { ModelUsage } from "../runs/model_usage.ts";
import type { RunStatus } from "../runs/run.ts";
import type { Contribution, Measures, ModelName, RunLabels } from "../runs/contribution.ts";
import type { Team } from "../teams/team.ts";
import type { Parsed } from "../core/errors.ts";

/**
 * What a roll-up is of.
 *
 * `total` to `model` have one row a day and value. `cell` has one a day and combination of the four
 * labels, `model_cell` one a day, combination and model: they answer questions with filters.
 */
export type RollupGroup =
  | { readonly kind: "total" }
  | { readonly kind: "agent" | "customer" | "feature"; readonly value: string | null }
  | { readonly kind: "status"; readonly value: RunStatus }
  | { readonly kind: "model"; readonly value: ModelName }
  | { readonly kind: "cell"; readonly labels: RunLabels }
  | { readonly kind: "model_cell"; readonly labels: RunLabels; readonly value: ModelName };

/** The kinds of roll-ups. */
export type RollupKind = RollupGroup["kind"];

/** One row: a group's sums of one UTC day. */
export interface RollupRow {
  /** UTC day that its runs are sorted by, `YYYY-MM-DD`. */
  readonly day: string;
  /** What it is of. */
  readonly group: RollupGroup;
  /** The sums. */
  readonly measures: Measures;
}

/** Nothing: what sums begin with. */
export const EMPTY_MEASURES: Measures = {
  runs: 0,
  succeeded: 0,
  failed: 0,
  timedOut: 0,
  running: 0,
  events: 0,
  calls: 0,
  inputTokens: 0n,
  outputTokens: 0n,
  cachedInputTokens: 0n,
  cost: 0n,
  unpricedCalls: 0,
  unpricedInputTokens: 0n,
  unpricedOutputTokens: 0n,
  unpricedCachedInputTokens: 0n,
};

/** Sums under way. */
export type Sums = { -readonly [Name in keyof Measures]: Measures[Name] };

const MEASURES = Object.keys(EMPTY_MEASURES) as readonly (keyof Measures)[];

/** Adds to sums under way, measure by measure. */
export function addTo(sums: Sums, measures: Measures): void {
  // A measure is a number in both or a bigint in both, which the compiler cannot see.
  const totals = sums as unknown as Record<keyof Measures, number>;
  for (const name of MEASURES) totals[name] += measures[name] as number;
}

/** Adds sums, measure by measure. */
export function addMeasures(a: Measures, b: Measures): Measures {
  const sums = { ...a };
  addTo(sums, b);
  return sums;
}

/** Subtracts `b` from `a`, measure by measure; a measure of the result may be negative. */
export function subtractMeasures(a: Measures, b: Measures): Measures {
  const rest = { ...a } as unknown as Record<keyof Measures, number>;
  for (const name of MEASURES) rest[name] -= b[name] as number;
  return rest as unknown as Measures;
}

/** Whether every measure is 0: such a row says nothing and need not be kept. */
export function isEmpty(measures: Measures): boolean {
  return MEASURES.every((name) => Number(measures[name]) === 0);
}

/** A group as a text that no other group has. */
export function groupName(group: RollupGroup): string {
  switch (group.kind) {
    case "total":
      return JSON.stringify([group.kind]);
    case "agent":
    case "customer":
    case "feature":
    case "status":
      return JSON.stringify([group.kind, group.value]);
    case "model":
      return JSON.stringify([group.kind, ...modelParts(group.value)]);
    case "cell":
      return JSON.stringify([group.kind, ...labelParts(group.labels)]);
    case "model_cell": {
      const { kind, labels, value } = group;
      return JSON.stringify([kind, ...labelParts(labels), ...modelParts(value)]);
    }
    default:
      return group satisfies never;
  }
}

function labelParts({ agent, customer, feature, status }: RunLabels) {
  return [agent, customer, feature, status];
}

function modelParts({ provider, model }: ModelName) {
  return [provider, model];
}

/**
 * The rows one run adds, at most one for each group.
 *
 * A row of a model counts the run once, however many of its lines name the model, and only the calls
 * to it as events. So a run counts in as many models as it used.
 */
export function contributionsOf(run: Contribution): RollupRow[] {
  const { day, labels } = run;
  const { agent, customer, feature, status } = labels;
  const models = measuresByModel(run);
  const measures = measuresOf(run, models);
  return [
    { day, group: { kind: "total" }, measures },
    { day, group: { kind: "agent", value: agent }, measures },
    { day, group: { kind: "customer", value: customer }, measures },
    { day, group: { kind: "feature", value: feature }, measures },
    { day, group: { kind: "status", value: status }, measures },
    { day, group: { kind: "cell", labels }, measures },
    ...models.flatMap(([value, measures]): RollupRow[] => [
      { day, group: { kind: "model", value }, measures },
      { day, group: { kind: "model_cell", labels, value }, measures },
    ]),
  ];
}

/** Sums of a whole run. What has no price is known by model only. */
function measuresOf(run: Contribution, models: readonly ModelMeasures[]): Measures {
  const sum = models.reduce((total, [, each]) => addMeasures(total, each), EMPTY_MEASURES);
  const { events, calls, inputTokens, outputTokens, cachedInputTokens, cost } = run;
  const own = { events, calls, inputTokens, outputTokens, cachedInputTokens, cost };
  return { ...sum, ...runCounts(run), ...own };
}

type ModelMeasures = readonly [ModelName, Measures];

/** Sums of each model of a run, its lines with and without a price together. */
function measuresByModel(run: Contribution): ModelMeasures[] {
  const byName = new Map<string, ModelMeasures>();
  for (const line of run.models) {
    const value: ModelName = { provider: line.provider, model: line.model };
    const name = JSON.stringify(modelParts(value));
    const known = byName.get(name)?.[1] ?? EMPTY_MEASURES;
    byName.set(name, [value, { ...addMeasures(known, lineMeasures(line)), ...runCounts(run) }]);
  }
  return [...byName.values()];
}

/** The measures that count runs. */
export type RunCounts = Pick<Measures, "runs" | "succeeded" | "failed" | "timedOut" | "running">;

/** The part of sums that counts runs. */
export function countsOf({ runs, succeeded, failed, timedOut, running }: Measures): RunCounts {
  return { runs, succeeded, failed, timedOut, running };
}

/** The counts of no runs. */
export const NO_RUNS: RunCounts = countsOf(EMPTY_MEASURES);

function runCounts({ labels: { status } }: Contribution): RunCounts {
  return {
    runs: 1,
    succeeded: status === "success" ? 1 : 0,
    failed: status === "failed" ? 1 : 0,
    timedOut: status === "timeout" ? 1 : 0,
    running: status === "running" ? 1 : 0,
  };
}

function lineMeasures(line: ModelUsage): Measures {
  const { priced, calls, inputTokens, outputTokens, cachedInputTokens, cost } = line;
  const counts = { events: calls, calls, inputTokens, outputTokens, cachedInputTokens, cost };
  const sums = { ...EMPTY_MEASURES, ...counts };
  return priced ? sums : {
    ...sums,
    unpricedCalls: calls,
    unpricedInputTokens: inputTokens,
    unpricedOutputTokens: outputTokens,
    unpricedCachedInputTokens: cachedInputTokens,
  };
}

/**
 * What to add to the roll-ups so that they hold a run as it is now in place of what it was.
 *
 * Rows that would change nothing are left out; a run that moved to another day, label or model takes
 * from the old group, so measures may be negative.
 *
 * @param before what the run contributes so far; null when nothing
 * @param after what it contributes from now on; null when nothing
 */
export function differencesOf(
  before: Contribution | null,
  after: Contribution | null,
): RollupRow[] {
  const rows = new Map<string, RollupRow>();
  for (const row of after === null ? [] : contributionsOf(after)) rows.set(rowName(row), row);
  for (const old of before === null ? [] : contributionsOf(before)) {
    const name = rowName(old);
    const measures = subtractMeasures(rows.get(name)?.measures ?? EMPTY_MEASURES, old.measures);
    rows.set(name, { ...old, measures });
  }
  return [...rows.values()].filter(({ measures }) => !isEmpty(measures));
}

/** Adds up rows: one for each day and group. */
export function mergeRows(rows: readonly RollupRow[]): RollupRow[] {
  const sums = new Map<string, RollupRow>();
  for (const row of rows) {
    const name = rowName(row);
    const known = sums.get(name)?.measures;
    const measures = known === undefined ? row.measures : addMeasures(known, row.measures);
    sums.set(name, { ...row, measures });
  }
  return [...sums.values()];
}

function rowName({ day, group }: RollupRow): string {
  return day + groupName(group);
}

/** The roll-ups: what the runs of each day come to. */
export interface SpendStore {
  /**
   * Reads the rows of one kind by day, some at a time.
   *
   * Each row is exactly its runs' sum at some moment of the reading; other rows may be of another.
   *
   * @param fromDay first UTC day, `YYYY-MM-DD`
   * @param toDay last UTC day, inclusive
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  rows(
    team: Team,
    kind: RollupKind,
    fromDay: string,
    toDay: string,
  ): AsyncIterable<readonly RollupRow[]>;
  /**
   * Answers a question that reads many rows: in its turn, and not for longer than a deadline.
   *
   * @param work reads the rows and makes the answer; must not ask another question
   * @returns its answer, or the refusal of a question that takes too long
   * @throws {Overloaded} when too many questions wait
   */
  ask<T>(team: Team, work: () => Promise<Parsed<T>>): Promise<Parsed<T>>;
  /**
   * Reads the rows of some groups on some days, in no order: for few groups among many.
   *
   * @param days UTC days, `YYYY-MM-DD`
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  some(
    team: Team,
    groups: readonly RollupGroup[],
    days: readonly string[],
  ): Promise<readonly RollupRow[]>;
}
