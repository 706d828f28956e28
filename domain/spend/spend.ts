/**
 * Spend: roll-ups aggregated into the requested groups, which always add up to their totals.
 *
 * @module
 */
import type { Parsed, Problem } from "../core/errors.ts";
import type { Picodollars } from "../pricing/money.ts";
import { firstOf } from "./first_of.ts";
import {
  addMeasures,
  addTo,
  countsOf,
  EMPTY_MEASURES,
  isEmpty,
  NO_RUNS,
  type RollupKind,
  type RollupRow,
  subtractMeasures,
  type Sums,
} from "./rollup.ts";
import type { Measures } from "../runs/contribution.ts";
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

/** Bytes of a group without its name, and of a row that a watcher stores. */
const GROUP_BYTES = 500, ROW_BYTES = 100;

/** Name of the group that combines those beyond {@link SPEND_GROUPS_MAX}. */
export const OTHER_GROUPS = "(other)";

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
   * True if its number of runs is known. For usage of no model it is not, since that is only the
   * remainder.
   */
  readonly runsKnown: boolean;
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

/** Observes the rows an answer is computed from. */
export interface RowWatcher {
  /** Called when a kind is about to be read; rows of this kind seen earlier no longer count. */
  readonly begins: (kind: RollupKind) => void;
  /** Called with each counted row and the id of its group. */
  readonly row: (row: RollupRow, id: string) => void;
}

/**
 * Answers a spend query, or refuses one that reads too much.
 *
 * @param watcher observes each counted row as it is read
 */
export async function spendOf(
  query: SpendQuery,
  read: ReadRows,
  watcher?: RowWatcher,
): Promise<Parsed<Spend>> {
  const { groupBy, filters } = query;
  const reader = new RowReader(read, filters, watcher);
  const plan = spendPlanOf(query);
  if (plan.whole !== null) return await spendByModel(reader, plan.groups, plan.whole);
  const groups = await reader.groups(plan.groups, groupBy);
  if (groups === null) return TOO_MANY_ROWS;
  const totals = sumOf(groups);
  const all = groupBy === "day" ? withAllDays(groups, query) : bySize(groups);
  return { ok: true, value: { totals, groups: all } };
}

/** Refusal of a query that would occupy the store for too long. */
export const TOO_MANY_ROWS = {
  ok: false,
  problem: {
    code: "invalid_field",
    message: `This query reads more than ${SPEND_ROWS_MAX} roll-up rows, or takes more than ` +
      `${SPEND_BYTES_MAX} bytes for its groups: request fewer days`,
    field: "from",
  } satisfies Problem,
} as const;

/**
 * Computes spend by model, and usage of no model: the totals of the runs minus their models.
 *
 * Models and runs are read one after the other, and read again if the runs changed meanwhile. Under
 * constant load, the answer uses the last read of the models and of the runs right after it. Usage
 * that arrived in between may then count as belonging to no model.
 */
async function spendByModel(
  reader: RowReader,
  kind: RollupKind,
  whole: RollupKind,
): Promise<Parsed<Spend>> {
  let before = await reader.total(whole);
  for (let reading = 1;; reading++) {
    const models = await reader.groups(kind, "model");
    const after = await reader.total(whole);
    if (before === null || models === null || after === null) return TOO_MANY_ROWS;
    if (reading === READINGS_MAX || isEmpty(subtractMeasures(after, before))) {
      return { ok: true, value: withUnattributed(models, after) };
    }
    before = after;
  }
}

function withUnattributed(models: readonly SpendGroup[], whole: Measures): Spend {
  const attributed = sumOf(models);
  const rest = { ...atLeastNothing(subtractMeasures(whole, attributed)), ...NO_RUNS };
  const totals = { ...addMeasures(attributed, rest), ...countsOf(whole) };
  if (isEmpty(rest)) return { totals, groups: bySize(models) };
  const group = {
    key: UNATTRIBUTED,
    model: null,
    folded: null,
    measures: rest,
    runsKnown: false,
  };
  return { totals, groups: bySize([...models, group]) };
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
  readonly measures: Sums;
}

/** Accumulates rows as they are read. It holds only the groups, within a size limit. */
class RowReader {
  #left = SPEND_ROWS_MAX;
  readonly #read: ReadRows;
  readonly #filters: SpendFilters;
  readonly #watcher: RowWatcher | undefined;

  constructor(read: ReadRows, filters: SpendFilters, watcher: RowWatcher | undefined) {
    this.#read = read;
    this.#filters = filters;
    this.#watcher = watcher;
  }

  /** Returns the groups of a kind's rows in no order; null if there are too many rows. */
  async groups(kind: RollupKind, groupBy: Grouping | null): Promise<SpendGroup[] | null> {
    const groups = new Map<string, OpenGroup>();
    let bytes = 0;
    this.#watcher?.begins(kind);
    for await (const rows of this.#read(kind)) {
      this.#left -= rows.length;
      if (this.#left < 0 || bytes > SPEND_BYTES_MAX) return null;
      for (const row of rows) {
        if (!matches(row, this.#filters)) continue;
        const id = groupId(row, groupBy);
        let group = groups.get(id);
        if (group === undefined) {
          groups.set(id, group = emptyGroup(row, groupBy));
          bytes += groupBytes(id);
        }
        addTo(group.measures, row.measures);
        if (this.#watcher === undefined) continue;
        this.#watcher.row(row, id);
        bytes += ROW_BYTES;
      }
    }
    return [...groups.values()].filter(({ measures }) => !isEmpty(measures));
  }

  /** Returns the total of a kind's rows; null if there are too many. */
  async total(kind: RollupKind): Promise<Measures | null> {
    const groups = await this.groups(kind, null);
    return groups && sumOf(groups);
  }
}

/**
 * Returns the bytes of a group being accumulated. Its name may have any characters, and the
 * response repeats it.
 */
export function groupBytes(id: string): number {
  return GROUP_BYTES + 4 * id.length;
}

/** Returns the id of a row's group; a `groupBy` of `null` puts all rows in one group. */
export function groupId({ day, group }: RollupRow, groupBy: Grouping | null): string {
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

function emptyGroup(row: RollupRow, groupBy: Grouping | null): OpenGroup {
  const model = groupBy === "model" ? modelOf(row.group) : null;
  const key = model === null ? groupId(row, groupBy) : modelKey(model);
  return { key, model, folded: null, measures: { ...EMPTY_MEASURES }, runsKnown: true };
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
  const none = { model: null, folded: null, measures: EMPTY_MEASURES, runsKnown: true };
  return daysOf(query).map((key) => byDay.get(key) ?? { key, ...none });
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

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
