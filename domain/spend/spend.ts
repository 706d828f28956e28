/**
 * Spend: roll-ups summed into the groups somebody asks for, which always add up to their totals.
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
import type { Measures, ModelName } from "../runs/contribution.ts";
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

/** Groups of one answer; the smallest ones beyond are one last group. */
export const SPEND_GROUPS_MAX = 1_000;

/** Rows one question may read: about a second of the store's time. */
export const SPEND_ROWS_MAX = 100_000;

/** Bytes that the groups of one question may take while they are added up. */
export const SPEND_BYTES_MAX = 67_108_864;

/** Bytes of a group without its name, and of a row that a watcher keeps. */
const GROUP_BYTES = 500, ROW_BYTES = 100;

/** What the groups beyond {@link SPEND_GROUPS_MAX} are called. */
export const OTHER_GROUPS = "(other)";

/** Readings of roll-ups that change meanwhile, before the answer is made of what was read. */
const READINGS_MAX = 3;

/** One group of an answer. */
export interface SpendGroup {
  /** What it is called. */
  readonly key: string;
  /** The model it is of, when it is of one. */
  readonly model: ModelName | null;
  /** How many groups it stands for, when it is the rest; else null. */
  readonly folded: number | null;
  /** Its sums. */
  readonly measures: Measures;
  /** Whether it is known how many runs it has: what belongs to no model is only what is left. */
  readonly runsKnown: boolean;
}

/** The answer to a question about spend. */
export interface Spend {
  /** Sums of everything asked for. */
  readonly totals: Measures;
  /** The groups, which add up to it. By model, runs do not: one run may use many. */
  readonly groups: readonly SpendGroup[];
}

/**
 * What all runs cost for each that succeeded, in picodollars; null when none did. Rounded half up: the one
 * figure here that is no sum.
 */
export function costPerSuccess({ cost, succeeded }: Measures): Picodollars | null {
  if (succeeded === 0) return null;
  const runs = BigInt(succeeded);
  return (2n * cost + runs) / (2n * runs);
}

/** Reads the rows of a kind by day, some at a time, for the days of a question. */
export type ReadRows = (kind: RollupKind) => AsyncIterable<readonly RollupRow[]>;

/** Sees the rows that an answer is made of. */
export interface RowWatcher {
  /** A kind is read, and what was seen of it before counts no longer. */
  readonly begins: (kind: RollupKind) => void;
  /** A row that counts, and the group that it is added to. */
  readonly row: (row: RollupRow, id: string) => void;
}

/**
 * Answers a question about spend, or says that it takes too much to answer.
 *
 * @param watcher sees every row that counts, as it is read
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

/** The refusal of a question whose answer would occupy the store for too long. */
export const TOO_MANY_ROWS = {
  ok: false,
  problem: {
    code: "invalid_field",
    message: `This takes more than ${SPEND_ROWS_MAX} rows of roll-ups, or than ` +
      `${SPEND_BYTES_MAX} bytes for its groups: ask for fewer days`,
    field: "from",
  } satisfies Problem,
} as const;

/**
 * Spend by model, and what belongs to none: the whole runs less their models.
 *
 * The two are read one after the other. When the runs changed meanwhile they are read again; on a
 * service that never rests the answer is then made of the models first and the runs right after,
 * so that what just came in may count as belonging to no model.
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

/** Measures of which none is negative, as runs that shrank between two readings could make them. */
function atLeastNothing(measures: Measures): Measures {
  const pairs = Object.entries(measures).map(([name, measure]) => [
    name,
    measure < 0 ? EMPTY_MEASURES[name as keyof Measures] : measure,
  ]);
  return Object.fromEntries(pairs);
}

/** A group under way. */
interface OpenGroup extends SpendGroup {
  readonly measures: Sums;
}

/** Adds up rows as they are read; it never holds more than the groups, and a bound of them. */
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

  /** The groups of a kind's rows in no order; null when there are too many rows. */
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

  /** The sum of a kind's rows; null when there are too many. */
  async total(kind: RollupKind): Promise<Measures | null> {
    const groups = await this.groups(kind, null);
    return groups && sumOf(groups);
  }
}

/** Bytes of a group under way: its name may be of any characters, and the answer has it once more. */
export function groupBytes(id: string): number {
  return GROUP_BYTES + 4 * id.length;
}

/** A text that tells a row's group from others; `null` puts all rows in one. */
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

/** A text that tells a model from others. */
export function modelId(model: ModelName | null): string {
  return JSON.stringify([model?.provider, model?.model]);
}

function emptyGroup(row: RollupRow, groupBy: Grouping | null): OpenGroup {
  const model = groupBy === "model" ? modelOf(row.group) : null;
  const key = model === null ? groupId(row, groupBy) : modelKey(model);
  return { key, model, folded: null, measures: { ...EMPTY_MEASURES }, runsKnown: true };
}

/** A model as one text, for people: `provider/model`, or the model alone. */
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

/** The groups by falling cost; when they are too many, the last one is the rest. */
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
