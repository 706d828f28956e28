/** The contents of a spend page: links, bars, colours and rows, from its answer. */
import { addCounts } from "../../../domain/core/sums.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import { EMPTY_MEASURES, type Measures } from "../../../domain/runs/summary.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { type DailySpend, seriesOf } from "../../../domain/spend/daily.ts";
import type { SpendGroup } from "../../../domain/spend/spend.ts";
import {
  GROUPINGS,
  SPEND_DAYS_DEFAULT,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import { queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import type { Texts } from "../components/form_fields.tsx";
import {
  dateText,
  dayText,
  formatCount,
  moneyText,
  monthText,
  percentText,
} from "../components/format.ts";
import type { SpendData } from "./spend_load.ts";

/** Parameters with other values; null removes one. */
type Changes = Readonly<Record<string, string | null>>;

const FILTER_NAMES = FILTERS.map(({ parameter }) => parameter);

/** Builds the path of the page, or of its export, with some of its parameters changed. */
export function spendPath(parameters: Texts, changes: Changes = {}, path = SPEND_PATH): string {
  const kept = pick(parameters, ["from", "to", "group_by", ...FILTER_NAMES]);
  return path + queryText(Object.entries({ ...kept, ...changes }));
}

function pick(parameters: Texts, names: readonly string[]): Changes {
  return Object.fromEntries(names.map((name) => [name, parameters[name] ?? null]));
}

/** Path of the runs of a page, or of a part of it. */
function runsPath(parameters: Texts, { from, to }: SpendQuery, part: Changes = {}): string {
  const pairs = new Map(
    Object.entries({ ...pick(parameters, FILTER_NAMES), from, to, ...part, root: "false" }),
  );
  // The run list accepts a provider only together with a model.
  if (!pairs.get("model")) pairs.delete("provider");
  return RUNS_PATH + queryText(pairs);
}

/** Returns the parameters that select one group; null if no parameters do. */
function filterOf({ groupBy }: SpendQuery, { key, model, folded }: SpendGroup): Changes | null {
  if (folded !== null) return null;
  if (groupBy === "day") return { from: key, to: key };
  if (groupBy === "customer") return { customer_id: key };
  if (groupBy !== "model") return { [groupBy]: key };
  return model && { model: model.model, provider: model.provider ?? UNATTRIBUTED };
}

/** Months with a link each, this one included: all that a plan may keep. */
const MONTHS = 14;

type Choice = readonly [name: string, changes: Changes];

/** Returns what links choose: the last days, a month (the latest first), the grouping. */
export function choicesAt(nowMs: number): readonly (readonly [string, readonly Choice[]])[] {
  const [year, thisMonth] = [new Date(nowMs).getUTCFullYear(), new Date(nowMs).getUTCMonth()];
  const choice = (name: string, firstMs: number, lastMs: number): Choice => [
    name,
    { from: dayOf(firstMs), to: dayOf(Math.min(lastMs, nowMs)) },
  ];
  const months = Array.from({ length: MONTHS }, (_, ago) => {
    const firstMs = Date.UTC(year, thisMonth - ago);
    const name = monthText(firstMs).replace(` ${year}`, "");
    return choice(name, firstMs, Date.UTC(year, thisMonth - ago + 1) - DAY_MS);
  });
  const days = [1, 7, SPEND_DAYS_DEFAULT].map((days) =>
    choice(days === 1 ? "Today" : `${days} days`, nowMs - (days - 1) * DAY_MS, nowMs)
  );
  // By day is the API's default; the page names it last.
  const groups = [...GROUPINGS.slice(1), "day"].map((by): Choice => [`By ${by}`, { group_by: by }]);
  return [["Period", days], ["Month", months], ["Group by", groups]];
}

/** Describes the days of a query: `on Nov 3, 2026`, `from Nov 1 to Nov 3, 2026`. */
export function daySpan({ from, to }: Pick<SpendQuery, "from" | "to">): string {
  if (from === to) return `on ${dateText(to)}`;
  const first = from.slice(0, 4) === to.slice(0, 4) ? dayText(from) : dateText(from);
  return `from ${first} to ${dateText(to)}`;
}

/** Cuts a name to a maximum length. */
export function shortName(name: string, charsMax: number): string {
  return name.length > charsMax ? `${name.slice(0, charsMax - 1)}…` : name;
}

/** Maximum characters of a group's name in the title of a bar. */
const TITLE_CHARS = 20;

/** Maximum days with a bar each; longer periods are shown by month. */
const DAY_BARS_MAX = 62;

/** Costliest groups that the headline and the title of a bar name. */
const NAMED = 3;

/** Groups shown until the complete list is requested. */
const GROUPS_SHOWN = 50;

/** A row of the table: a group, the groups that are not shown, or all of them. */
export interface GroupRow {
  readonly name: string;
  readonly measures: Measures;
  readonly runsKnown: boolean;
  /** Cost of all groups. */
  readonly all: Picodollars;
  /** Class of its colour in the chart; none for a group that the chart does not show. */
  readonly colour?: string | undefined;
  /** Path of the page about it. */
  readonly inside?: string | null;
  /** Path of its runs. */
  readonly runs?: string | null;
}

export type SpendView = ReturnType<typeof spendView>;

export function spendView({ query, spend, before }: SpendData, parameters: Texts) {
  const { totals, groups, days, daily } = spend;
  const { groupBy } = query;
  const series = daily.map(({ group, costs }, at) => ({
    group,
    name: group?.key ?? "all others",
    total: sumOf(costs),
    // Statuses have colours of their own.
    colour: group === null ? "rest" : groupBy === "status" ? group.key : `c${at + 1}`,
  }));
  const bars = barsOf(spend).map((bar) => ({
    ...bar,
    title: [
      `${bar.name}: ${moneyText(bar.total)}`,
      ...series.map(({ name }, at) => [name, bar.parts[at] ?? 0n] as const)
        .filter(([, cost]) => cost > 0n).slice(0, NAMED)
        .map(([name, cost]) => `${shortName(name, TITLE_CHARS)} ${moneyText(cost)}`),
    ].join(", "),
    to: runsPath(parameters, query, { from: bar.from, to: bar.to }),
  }));
  const rowOf = (group: SpendGroup): GroupRow => {
    const filter = filterOf(query, group);
    const next = groupBy === "agent" ? "model" : "agent";
    return {
      ...group,
      name: nameOf(group, groupBy),
      all: totals.cost,
      colour: series.find((one) => one.group === group)?.colour,
      inside: filter && spendPath(parameters, { ...filter, group_by: next }),
      runs: filter && group.measures.runs > 0 ? runsPath(parameters, query, filter) : null,
    };
  };
  const shown = parameters.groups === "all" ? groups : groups.slice(0, GROUPS_SHOWN);
  const hidden = groups.slice(shown.length);
  const others: GroupRow = {
    name: `${formatCount(hidden.length)} more: show all`,
    measures: hidden.reduce((sum, { measures }) => addCounts(sum, measures), EMPTY_MEASURES),
    runsKnown: groupBy !== "model",
    all: totals.cost,
    inside: spendPath(parameters, { groups: "all" }),
  };
  const all: GroupRow = { name: "All", measures: totals, runsKnown: true, all: totals.cost };
  return {
    ...{ query, totals, series, bars },
    days: days.length,
    unit: days.length > DAY_BARS_MAX ? "month" : "day",
    /** The costliest groups with their shares. */
    named: daily.flatMap(({ group }) => group ?? []).slice(0, NAMED)
      .map(({ key, measures }) => `${key} ${percentText(measures.cost, totals.cost)}`).join(", "),
    change: changeOf(totals.cost, before, days.length),
    chartTitle: `Cost ${daySpan(query)}, by ${seriesOf(groupBy)}: ${moneyText(totals.cost)} in ` +
      "all. The table of days has the same numbers.",
    /** Cost of an average bar of the days before; null for none. */
    usual: before ? Number(before) / bars.length : null,
    runs: runsPath(parameters, query),
    rows: shown.map(rowOf),
    sums: hidden.length > 0 ? [others, all] : [all],
  };
}

function nameOf({ key, folded }: SpendGroup, groupBy: SpendQuery["groupBy"]): string {
  if (folded === null) return groupBy === "day" ? dayText(key) : key;
  const noun = groupBy === "status" ? "statuses" : `${groupBy}s`;
  return `${formatCount(folded)} cheaper ${noun}, together`;
}

/** Adds up the days, or the months of a long period. */
function barsOf({ days, dayTotals, daily }: DailySpend) {
  const isByMonth = days.length > DAY_BARS_MAX;
  const units = Map.groupBy(days.keys(), (at) => days[at]?.slice(0, isByMonth ? 7 : 10) ?? "");
  return Array.from(units, ([unit, at]) => ({
    name: isByMonth ? monthText(unit) : dayText(unit),
    from: days[at[0] ?? 0] ?? unit,
    to: days[at.at(-1) ?? 0] ?? unit,
    total: sumOf(at.map((day) => dayTotals[day] ?? 0n)),
    /** Costs in the order of the series. */
    parts: daily.map(({ costs }) => sumOf(at.map((day) => costs[day] ?? 0n))),
  }));
}

function sumOf(costs: readonly Picodollars[]): Picodollars {
  return costs.reduce((sum, cost) => sum + cost, 0n);
}

/** Multiple of a cost from which a percentage says less. */
const TIMES_MIN = 10n;

/** Compares a cost with the cost of as many days before, if it is known: a sign, and a sentence. */
function changeOf(now: Picodollars, before: Picodollars | null, days: number) {
  const period = days === 1 ? "the day before" : `the ${days} days before`;
  if (before === null) return ["", ""] as const;
  if (before === 0n) return ["", `Nothing in ${period}.`] as const;
  const times = now / before;
  if (times >= TIMES_MIN) {
    return ["▲", `${formatCount(times)} times the ${moneyText(before)} of ${period}.`] as const;
  }
  const than = `than ${moneyText(before)} in ${period}.`;
  return now >= before
    ? ["▲", `${percentText(now - before, before)} more ${than}`] as const
    : ["▼", `${percentText(before - now, before)} less ${than}`] as const;
}
