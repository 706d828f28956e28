/**
 * Spend: roll-ups aggregated into the requested groups, which always add up to their totals.
 *
 * @module
 */
import { addCounts, addTo, compare, isZero, subtractCounts, type Sums } from "../core/sums.ts";
import { EMPTY_MEASURES, type Measures } from "../runs/summary.ts";
import { refuse } from "../core/errors.ts";
import type { Picodollars } from "../pricing/money.ts";
import { firstOf } from "./first_of.ts";
import { countsOf, NO_RUNS, type RollupKind, type RollupRow } from "./rollup.ts";
import type { ModelName } from "../runs/model_usage.ts";
import {
  daysOf,
  type Grouping,
  labelOf,
  matches,
  modelOf,
  spendPlanOf,
  type SpendQuery,
} from "./spend_query.ts";
import { type SpendFilters, UNATTRIBUTED } from "../runs/filters.ts";

/** Maximum groups of one answer; the smallest ones beyond it are combined into one last group. */
export const SPEND_GROUPS_MAX = 1_000;

/** Maximum rows one query may read: about a second of the store's time. */
export const SPEND_ROWS_MAX = 100_000;

/** Maximum bytes of a query's groups while they are accumulated. */
export const SPEND_BYTES_MAX = 67_108_864;

/** Bytes of a group without its name, and of a row that is summed by day. */
const GROUP_BYTES = 500, ROW_BYTES = 100;

/** Name of the group that combines those beyond {@link SPEND_GROUPS_MAX}. */
const OTHER_GROUPS = "(other)";

/** Maximum reads of roll-ups that keep changing; the answer then uses the last read. */
const READINGS_MAX = 3;

/** One group of an answer. */
export interface SpendGroup {
  /** Name of the group. */
  readonly key: string;
  /** Model, if the group is a model; else null. */
  readonly model: ModelName | null;
  /** Number of groups combined in it; null for a single group. */
  readonly folded: number | null;
  /** Totals of the group. */
  readonly measures: Measures;
  /**
   * True if its number of runs is known; false for usage of no model, which is only the remainder.
   */
  readonly runsKnown: boolean;
  /** Costs by UTC day, `YYYY-MM-DD`; only if the answer is by day. */
  readonly costs?: ReadonlyMap<string, Picodollars>;
}

/** The answer to a spend query. */
export interface Spend {
  /** Totals of all matching runs. */
  readonly totals: Measures;
  /**
   * Groups, which add up to the totals. Run counts by model do not, because one run may use several
   * models.
   */
  readonly groups: readonly SpendGroup[];
  /** Totals by UTC day, `YYYY-MM-DD`; only if the answer is by day. */
  readonly byDay?: ReadonlyMap<string, Measures>;
}

/**
 * Returns the cost of all runs per successful run, in picodollars; null if none succeeded. It is
 * rounded half up, and is the only number here that is not a sum.
 */
export function costPerSuccess({ cost, succeeded }: Measures): Picodollars | null {
  if (succeeded === 0) return null;
  const runs = BigInt(succeeded);
  return (2n * cost + runs) / (2n * runs);
}

/** Reads the rows of a kind by day, in pages, for the days of a query. */
export type ReadRows = (kind: RollupKind) => AsyncIterable<readonly RollupRow[]>;

/**
 * Answers a spend query, or refuses one that reads too much.
 *
 * @param isByDay true to include the costs of each group by day
 */
export async function spendOf(query: SpendQuery, read: ReadRows, isByDay = false): Promise<Spend> {
  const { groupBy, filters } = query;
  const sums = sumsReader(read, filters, isByDay);
  const plan = spendPlanOf(query);
  if (plan.whole !== null) return await spendByModel(sums, plan.groups, plan.whole);
  const spend = await sums(plan.groups, groupBy);
  if (spend === null) return tooManyRows();
  const groups = groupBy === "day" ? withAllDays(spend.groups, query) : bySize(spend.groups);
  return { ...spend, groups };
}

/** Refuses a query that would occupy the store for too long. */
export function tooManyRows(): never {
  const message = `This query reads more than ${SPEND_ROWS_MAX} roll-up rows, or takes more than ` +
    `${SPEND_BYTES_MAX} bytes for its groups: request fewer days`;
  return refuse("invalid_field", message, "from");
}

/**
 * Computes spend by model, and usage of no model: the totals of the runs minus their models.
 *
 * Models and runs are read one after the other, and read again if the runs changed meanwhile. Under
 * constant load, the answer uses the last read of the models and of the runs right after it. Usage
 * that arrived in between may then count as belonging to no model.
 */
async function spendByModel(sums: ReadSums, kind: RollupKind, whole: RollupKind): Promise<Spend> {
  let before = await sums(whole, null);
  for (let reading = 1;; reading++) {
    const models = await sums(kind, "model");
    const after = await sums(whole, null);
    if (before === null || models === null || after === null) return tooManyRows();
    if (reading === READINGS_MAX || isZero(subtractCounts(after.totals, before.totals))) {
      return withUnattributed(models, after);
    }
    before = after;
  }
}

function withUnattributed(models: Spend, whole: Spend): Spend {
  const rest = {
    ...atLeastNothing(subtractCounts(whole.totals, models.totals)),
    ...NO_RUNS,
  };
  const totals = { ...addCounts(models.totals, rest), ...countsOf(whole.totals) };
  if (isZero(rest)) return { ...whole, totals, groups: bySize(models.groups) };
  const costs = Array.from(
    whole.byDay ?? [],
    ([day, { cost }]) => [day, cost - (models.byDay?.get(day)?.cost ?? 0n)] as const,
  );
  const group = {
    key: UNATTRIBUTED,
    model: null,
    folded: null,
    measures: rest,
    runsKnown: false,
    ...whole.byDay && { costs: new Map(costs) },
  };
  return { ...whole, totals, groups: bySize([...models.groups, group]) };
}

/** Replaces negative measures with 0. They occur if runs shrank between two reads. */
function atLeastNothing(measures: Measures): Measures {
  const pairs = Object.entries(measures).map(([name, measure]) => [
    name,
    measure < 0 ? EMPTY_MEASURES[name as keyof Measures] : measure,
  ]);
  return Object.fromEntries(pairs);
}

/** A group being accumulated. */
interface OpenGroup extends SpendGroup {
  readonly measures: Sums<Measures>;
  readonly costs?: Map<string, Picodollars>;
}

/**
 * Returns the sums of a kind's rows, groups in no particular order; null if there are too many rows.
 */
type ReadSums = (kind: RollupKind, groupBy: Grouping | null) => Promise<Spend | null>;

/**
 * Returns a function that accumulates rows as they are read. It holds only the groups, within a size
 * limit; all its calls together read a limited number of rows.
 */
function sumsReader(read: ReadRows, filters: SpendFilters, isByDay: boolean): ReadSums {
  let left = SPEND_ROWS_MAX;
  return async (kind, groupBy) => {
    const groups = new Map<string, OpenGroup>();
    const byDay = new Map<string, Sums<Measures>>();
    let bytes = 0;
    for await (const rows of read(kind)) {
      left -= rows.length;
      if (left < 0 || bytes > SPEND_BYTES_MAX) return null;
      for (const row of rows) {
        if (!matches(row, filters)) continue;
        const id = groupId(row, groupBy);
        let group = groups.get(id);
        if (group === undefined) {
          groups.set(id, group = emptyGroup(row, groupBy, isByDay));
          bytes += groupBytes(id);
        }
        addTo(group.measures, row.measures);
        if (group.costs === undefined) continue;
        addToDay(byDay, group.costs, row);
        bytes += ROW_BYTES;
      }
    }
    const all = [...groups.values()].filter(({ measures }) => !isZero(measures));
    return { totals: sumOf(all), groups: all, ...isByDay ? { byDay } : {} };
  };
}

function addToDay(
  byDay: Map<string, Sums<Measures>>,
  costs: Map<string, Picodollars>,
  { day, measures }: RollupRow,
): void {
  costs.set(day, (costs.get(day) ?? 0n) + measures.cost);
  let sums = byDay.get(day);
  if (sums === undefined) byDay.set(day, sums = { ...EMPTY_MEASURES });
  addTo(sums, measures);
}

/**
 * Returns the bytes of a group being accumulated. Its name may have any characters, and the
 * response repeats it.
 */
export function groupBytes(id: string): number {
  return GROUP_BYTES + 4 * id.length;
}

/** Returns the id of a row's group; a `groupBy` of `null` puts all rows in one group. */
function groupId({ day, group }: RollupRow, groupBy: Grouping | null): string {
  switch (groupBy) {
    case null:
      return "";
    case "day":
      return day;
    case "model":
      return modelId(modelOf(group));
    case "agent":
    case "customer":
    case "feature":
    case "status":
      return labelOf(group, groupBy) ?? UNATTRIBUTED;
    default:
      return groupBy satisfies never;
  }
}

/** Returns a text that identifies a model. */
export function modelId(model: ModelName | null): string {
  return JSON.stringify([model?.provider, model?.model]);
}

function emptyGroup(row: RollupRow, groupBy: Grouping | null, isByDay: boolean): OpenGroup {
  const model = groupBy === "model" ? modelOf(row.group) : null;
  const key = model === null ? groupId(row, groupBy) : modelKey(model);
  const group = { key, model, folded: null, measures: { ...EMPTY_MEASURES }, runsKnown: true };
  return isByDay ? { ...group, costs: new Map() } : group;
}

/** Returns the display name of a model: `provider/model`, or the model alone. */
export function modelKey({ provider, model }: ModelName): string {
  return provider === null ? model : `${provider}/${model}`;
}

function sumOf(groups: Iterable<SpendGroup>): Measures {
  const sums = { ...EMPTY_MEASURES };
  for (const { measures } of groups) addTo(sums, measures);
  return sums;
}

function withAllDays(groups: readonly SpendGroup[], query: SpendQuery): SpendGroup[] {
  const byDay = new Map(groups.map((group) => [group.key, group]));
  return daysOf(query).map((key) => byDay.get(key) ?? dayGroup(key));
}

/** Returns the group of a day. */
export function dayGroup(key: string, measures: Measures = EMPTY_MEASURES): SpendGroup {
  return { key, model: null, folded: null, measures, runsKnown: true };
}

/** Sorts groups by descending cost. If there are too many, the last group combines the others. */
function bySize(groups: readonly SpendGroup[]): SpendGroup[] {
  const isFolded = groups.length > SPEND_GROUPS_MAX;
  const first = firstOf(groups, isFolded ? SPEND_GROUPS_MAX - 1 : SPEND_GROUPS_MAX, byCost);
  if (!isFolded) return first;
  const shown = new Set(first);
  const rest = groups.filter((group) => !shown.has(group));
  return [...first, {
    key: OTHER_GROUPS,
    model: null,
    folded: rest.length,
    measures: sumOf(rest),
    runsKnown: rest.every(({ runsKnown }) => runsKnown),
  }];
}

function byCost(a: SpendGroup, b: SpendGroup): number {
  return compare(b.measures.cost, a.measures.cost) || compare(a.key, b.key);
}
