/**
 * Spend by day: the costliest groups separately, all others combined. It is computed from the same
 * rows as the response, so its days add up to the response's totals.
 *
 * @module
 */
import { addTo, type Sums } from "../core/sums.ts";
import { EMPTY_MEASURES, type Measures } from "../runs/contribution.ts";
import type { Parsed } from "../core/errors.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RollupKind, RollupRow } from "./rollup.ts";
import {
  modelId,
  type ReadRows,
  type RowWatcher,
  type Spend,
  type SpendGroup,
  spendOf,
} from "./spend.ts";
import {
  daysOf,
  type Grouping,
  type SpendPlan,
  spendPlanOf,
  type SpendQuery,
} from "./spend_query.ts";

/** Maximum groups shown by day; more are hard to tell apart by eye. */
export const DAILY_GROUPS_MAX = 8;

/** Daily costs of a group. */
export interface DailyGroup {
  /** Group; null for all groups not shown separately. */
  readonly group: SpendGroup | null;
  /** Cost by day, in picodollars. */
  readonly costs: readonly Picodollars[];
}

/** Returns the grouping of the daily series; a question grouped by day gets a series by agent. */
export function seriesOf(groupBy: Grouping): Grouping {
  return groupBy === "day" ? "agent" : groupBy;
}

/** The answer to a spend query, including daily series. */
export interface DailySpend extends Spend {
  /** UTC days `YYYY-MM-DD`, in order. */
  readonly days: readonly string[];
  /** Total cost by day, in picodollars. */
  readonly dayTotals: readonly Picodollars[];
  /** Costliest groups first, all others last; they add up to `dayTotals`. */
  readonly daily: readonly DailyGroup[];
}

/** Answers a spend query, including daily series. */
export async function dailySpendOf(
  query: SpendQuery,
  read: ReadRows,
): Promise<Parsed<DailySpend>> {
  const ofSeries = { ...query, groupBy: seriesOf(query.groupBy) };
  const sums = new DaySums(ofSeries);
  const spend = await spendOf(ofSeries, read, sums);
  if (!spend.ok) return spend;
  const daily = { ...spend.value, ...sums.of(spend.value) };
  return {
    ok: true,
    value: query.groupBy === "day" ? { ...daily, groups: sums.days() } : daily,
  };
}

/** Costs of one kind of rows by group and day. */
type Costs = Map<string, Map<string, Picodollars>>;

/** Accumulates costs by group and day. */
class DaySums implements RowWatcher {
  readonly #query: SpendQuery;
  readonly #plan: SpendPlan;
  #groups: Costs = new Map();
  #whole: Costs = new Map();
  #days = new Map<string, Sums<Measures>>();

  constructor(query: SpendQuery) {
    this.#query = query;
    this.#plan = spendPlanOf(query);
  }

  readonly begins = (kind: RollupKind): void => {
    if (kind === this.#plan.groups) {
      this.#groups = new Map();
      this.#days = new Map();
    } else this.#whole = new Map();
  };

  readonly row = (row: RollupRow, id: string): void => {
    const isOfGroup = row.group.kind === this.#plan.groups;
    if (isOfGroup) this.#addToDay(row);
    const costs = isOfGroup ? this.#groups : this.#whole;
    let days = costs.get(id);
    if (days === undefined) costs.set(id, days = new Map());
    days.set(row.day, (days.get(row.day) ?? 0n) + row.measures.cost);
  };

  #addToDay({ day, measures }: RollupRow): void {
    let sums = this.#days.get(day);
    if (sums === undefined) this.#days.set(day, sums = { ...EMPTY_MEASURES });
    addTo(sums, measures);
  }

  /** Returns one group per day. */
  days(): SpendGroup[] {
    return daysOf(this.#query).map((key) => {
      const measures = this.#days.get(key) ?? EMPTY_MEASURES;
      return { key, model: null, folded: null, measures, runsKnown: true };
    });
  }

  /** Returns the daily series of the response's groups. */
  of({ groups }: Spend): Omit<DailySpend, keyof Spend> {
    const days = daysOf(this.#query);
    const ofModels = this.#totals(this.#groups, days);
    const dayTotals = this.#plan.whole === null ? ofModels : this.#totals(this.#whole, days);
    const ofNoModel = dayTotals.map((total, day) => total - (ofModels[day] ?? 0n));
    const named = groups.filter(({ folded, measures }) => folded === null && measures.cost > 0n);
    const daily: DailyGroup[] = named.slice(0, DAILY_GROUPS_MAX).map((group) => ({
      group,
      costs: this.#isOfNoModel(group) ? ofNoModel : this.#costs(group, days),
    }));
    const rest = dayTotals.map((total, day) =>
      daily.reduce((left, { costs }) => left - (costs[day] ?? 0n), total)
    );
    const all = rest.some((cost) => cost !== 0n) ? [...daily, { group: null, costs: rest }] : daily;
    return { days, dayTotals, daily: all };
  }

  #isOfNoModel({ model }: SpendGroup): boolean {
    return this.#query.groupBy === "model" && model === null;
  }

  #costs({ key, model }: SpendGroup, days: readonly string[]): Picodollars[] {
    const costs = this.#groups.get(this.#query.groupBy === "model" ? modelId(model) : key);
    return days.map((day) => costs?.get(day) ?? 0n);
  }

  #totals(groups: Costs, days: readonly string[]): Picodollars[] {
    const sums = new Map<string, Picodollars>();
    for (const costs of groups.values()) {
      for (const [day, cost] of costs) sums.set(day, (sums.get(day) ?? 0n) + cost);
    }
    return days.map((day) => sums.get(day) ?? 0n);
  }
}
