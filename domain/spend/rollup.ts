/**
 * Roll-ups: totals of the runs of a UTC day, by each dimension that spend is grouped by.
 *
 * A roll-up only changes by the difference between a run's previous and current contribution, in
 * the commit that stores the current one. So it always equals the exact sum over its runs.
 *
 * @module
 */
import type { ModelName, ModelUsage } from "../runs/model_usage.ts";
import type { RunLabels, RunStatus } from "../runs/run.ts";
import { type Contribution, EMPTY_MEASURES, type Measures } from "../runs/summary.ts";
import { addCounts, addTo, isZero, subtractFrom, type Sums } from "../core/sums.ts";

/**
 * The group a roll-up row aggregates.
 *
 * `total` to `model` have one row per day and value. `cell` has one per day and combination of the
 * four labels, `model_cell` one per day, combination and model; they answer queries with filters.
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

/** A roll-up row: a group's totals of one UTC day. */
export interface RollupRow {
  /** UTC day its runs are counted on, `YYYY-MM-DD`. */
  readonly day: string;
  /** Group the row aggregates. */
  readonly group: RollupGroup;
  /** Totals of the group. */
  readonly measures: Measures;
}

/** Returns a text that identifies the group. */
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
 * Returns the rows a run adds, at most one per group.
 *
 * A row of a model counts the run once, however many lines name the model, and counts only the
 * calls to it as events. So a run is counted for each model it used.
 */
export function contributionsOf(run: Contribution): RollupRow[] {
  const cells = new Map<string, Cell>();
  addRun(cells, run, addTo);
  return [...cells.values()].flatMap(rowsOf);
}

/** Totals of the runs of a day that share all labels. */
interface Cell extends Pick<Contribution, "day" | "labels"> {
  readonly measures: Sums<Measures>;
  readonly models: Map<string, { readonly value: ModelName; readonly measures: Sums<Measures> }>;
}

/** Adds a run to its cell, or subtracts it. */
function addRun(cells: Map<string, Cell>, run: Contribution, add: typeof addTo): void {
  const { day, labels } = run;
  const name = JSON.stringify([day, ...labelParts(labels)]);
  let cell = cells.get(name);
  if (cell === undefined) {
    cell = { day, labels, measures: { ...EMPTY_MEASURES }, models: new Map() };
    cells.set(name, cell);
  }
  const models = measuresByModel(run);
  add(cell.measures, measuresOf(run, models));
  for (const [value, measures] of models) {
    const model = JSON.stringify(modelParts(value));
    const known = cell.models.get(model);
    const sums = known ?? { value, measures: { ...EMPTY_MEASURES } };
    if (known === undefined) cell.models.set(model, sums);
    add(sums.measures, measures);
  }
}

/** Returns the rows of a cell, one for each group. */
function rowsOf({ day, labels, measures, models }: Cell): RollupRow[] {
  const { agent, customer, feature, status } = labels;
  return [
    { day, group: { kind: "total" }, measures },
    { day, group: { kind: "agent", value: agent }, measures },
    { day, group: { kind: "customer", value: customer }, measures },
    { day, group: { kind: "feature", value: feature }, measures },
    { day, group: { kind: "status", value: status }, measures },
    { day, group: { kind: "cell", labels }, measures },
    ...models.values().flatMap(({ value, measures }): RollupRow[] => [
      { day, group: { kind: "model", value }, measures },
      { day, group: { kind: "model_cell", labels, value }, measures },
    ]),
  ];
}

/** Returns the measures of a complete run. Unpriced usage is known only by model. */
function measuresOf(run: Contribution, models: readonly ModelMeasures[]): Measures {
  const sum = models.reduce((total, [, measures]) => addCounts(total, measures), EMPTY_MEASURES);
  const { events, calls, inputTokens, outputTokens, cachedInputTokens, cost } = run;
  const own = { events, calls, inputTokens, outputTokens, cachedInputTokens, cost };
  return { ...sum, ...runCounts(run), ...own };
}

type ModelMeasures = readonly [ModelName, Measures];

/**
 * Returns the measures of each model of a run; priced and unpriced lines are combined. The call that a
 * heartbeat reports is no event (R38).
 */
function measuresByModel(run: Contribution): ModelMeasures[] {
  const byName = new Map<string, ModelMeasures>();
  for (const line of run.models) {
    const value: ModelName = { provider: line.provider, model: line.model };
    const name = JSON.stringify(modelParts(value));
    const previous = byName.get(name)?.[1] ?? EMPTY_MEASURES;
    byName.set(name, [value, { ...addCounts(previous, lineMeasures(line)), ...runCounts(run) }]);
  }
  const reported = run.reported && JSON.stringify(modelParts(run.reported));
  return Array.from(
    byName,
    ([name, [value, measures]]) =>
      name === reported ? [value, { ...measures, events: measures.events - 1 }] : [value, measures],
  );
}

/** The measures that count runs. */
export type RunCounts = Pick<Measures, "runs" | "succeeded" | "failed" | "timedOut" | "running">;

/** Returns the measures that count runs. */
export function countsOf({ runs, succeeded, failed, timedOut, running }: Measures): RunCounts {
  return { runs, succeeded, failed, timedOut, running };
}

/** Run counts that are all 0. */
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
  if (priced === null) return { ...sums, uncountedCalls: calls };
  return priced ? sums : {
    ...sums,
    unpricedCalls: calls,
    unpricedInputTokens: inputTokens,
    unpricedOutputTokens: outputTokens,
    unpricedCachedInputTokens: cachedInputTokens,
  };
}

/** A change of a run's contribution. */
export interface ContributionChange {
  /** Previous contribution; null for none. */
  readonly before: Contribution | null;
  /** Current contribution; null for none. */
  readonly after: Contribution | null;
}

/**
 * Returns the rows that update the roll-ups when runs change, one for each day and group.
 *
 * Rows without a change are left out. A run that moved to another day, label or model is subtracted
 * from its old group, so measures may be negative.
 */
export function differencesOf(changes: Iterable<ContributionChange>): RollupRow[] {
  // Runs are added by cell first: most runs of a commit share their labels.
  const cells = new Map<string, Cell>();
  for (const { before, after } of changes) {
    if (after !== null) addRun(cells, after, addTo);
    if (before !== null) addRun(cells, before, subtractFrom);
  }
  const rows = mergeRows([...cells.values()].flatMap(rowsOf));
  return rows.filter(({ measures }) => !isZero(measures));
}

/** Merges rows into one per day and group. */
export function mergeRows(rows: readonly RollupRow[]): RollupRow[] {
  const sums = new Map<string, RollupRow>();
  for (const row of rows) {
    const name = rowName(row);
    const sum = sums.get(name)?.measures;
    const measures = sum === undefined ? row.measures : addCounts(sum, row.measures);
    sums.set(name, { ...row, measures });
  }
  return [...sums.values()];
}

function rowName({ day, group }: RollupRow): string {
  return day + groupName(group);
}
