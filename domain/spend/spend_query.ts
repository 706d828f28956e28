/**
 * Parses spend queries and selects the roll-ups that answer them (`docs/SPEND.md`).
 *
 * @module
 */
import { Query, refuseParameter } from "../core/query.ts";
import type { ModelName } from "../runs/model_usage.ts";
import type { RollupGroup, RollupKind, RollupRow } from "./rollup.ts";
import { show } from "../core/text.ts";
import { DAY_MS, dayOf, parseInstant } from "../core/time.ts";
import {
  FILTERS,
  type Label,
  labelOrNull,
  readFilters,
  type SpendFilters,
} from "../runs/filters.ts";

/** Maximum days of a query: as long as any plan keeps runs. */
export const SPEND_DAYS_MAX = 400;

/** Days of a query without a start, including today. */
export const SPEND_DAYS_DEFAULT = 30;

/** Groupings of spend. */
export const GROUPINGS = ["day", "agent", "customer", "feature", "model", "status"] as const;

/** One of {@link GROUPINGS}. */
export type Grouping = typeof GROUPINGS[number];

/** A spend query. */
export interface SpendQuery {
  /** First UTC day, `YYYY-MM-DD`. */
  readonly from: string;
  /** Last UTC day, inclusive. */
  readonly to: string;
  /** Grouping. */
  readonly groupBy: Grouping;
  /** Filters. */
  readonly filters: SpendFilters;
}

const LABELS: readonly Label[] = ["agent", "customer", "feature", "status"];

/**
 * Parses a spend query.
 *
 * @param text the query without its question mark
 * @param nowMs unix milliseconds; a query without an end ends today
 */
export function parseSpendQuery(text: string, nowMs: number): SpendQuery {
  const query = new Query(text);
  const range = readRange(query, nowMs);
  const groupBy = query.choice("group_by", GROUPINGS) ?? "day";
  return { ...range, groupBy, filters: readFilters(query, FILTERS) };
}

/** Parses a query for models without a price; it has fewer filters. */
export function parseUnpricedQuery(text: string, nowMs: number): SpendQuery {
  const ofModels = FILTERS.filter(({ filter }) => filter === "model" || filter === "provider");
  const query = new Query(text);
  const range = readRange(query, nowMs);
  return { ...range, groupBy: "model", filters: readFilters(query, ofModels) };
}

/**
 * Reads `from` and `to`.
 *
 * @param nowMs unix milliseconds; a range without an end ends today
 */
export function readRange(query: Query, nowMs: number): Pick<SpendQuery, "from" | "to"> {
  const to = parseDay(query.text("to"), nowMs);
  const from = parseDay(query.text("from"), (to ?? 0) - (SPEND_DAYS_DEFAULT - 1) * DAY_MS);
  if (from === null) return refuseDay("from", query);
  if (to === null) return refuseDay("to", query);
  const days = (to - from) / DAY_MS + 1;
  if (days < 1) refuseParameter("from", 'Parameter "from" must not be after "to"');
  if (days > SPEND_DAYS_MAX) {
    const message = `"from" to "to" may be ${SPEND_DAYS_MAX} days at most: got ${days}`;
    refuseParameter("from", message);
  }
  return { from: dayOf(from), to: dayOf(to) };
}

function refuseDay(name: string, query: Query): never {
  const message = `Parameter "${name}" must be a UTC day such as 2026-01-31, or an instant ` +
    `on it: got ${show(query.text(name))}`;
  return refuseParameter(name, message);
}

/** Returns midnight of a day given as such or as an instant on it; null for any other value. */
function parseDay(value: string | undefined, absentMs: number): number | null {
  const ms = value === undefined
    ? absentMs
    : parseInstant(/t/i.test(value) ? value : `${value}T00:00:00Z`);
  return ms === null ? null : Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Returns all days of a query, in order. */
export function daysOf({ from, to }: Pick<SpendQuery, "from" | "to">): string[] {
  const days: string[] = [];
  const last = Date.parse(to);
  for (let ms = Date.parse(from); ms <= last; ms += DAY_MS) days.push(dayOf(ms));
  return days;
}

/** Roll-ups that answer a query with the fewest rows. */
export interface SpendPlan {
  /** Kind of rows to group. */
  readonly groups: RollupKind;
  /**
   * Kind of rows that hold complete runs, of which models are a part; null if the groups cover
   * everything.
   */
  readonly whole: RollupKind | null;
}

/** Selects the roll-ups for a query. */
export function spendPlanOf({ groupBy, filters }: SpendQuery): SpendPlan {
  const filtered = LABELS.filter((label) => filters[label] !== undefined);
  const ofModels = filters.model !== undefined || filters.provider !== undefined;
  const grouped = LABELS.find((label) => label === groupBy);
  const needed = new Set(grouped === undefined ? filtered : [...filtered, grouped]);
  if (groupBy !== "model" && !ofModels) return { groups: kindWith(needed), whole: null };
  const groups = needed.size === 0 ? "model" : "model_cell";
  return { groups, whole: ofModels ? null : kindWith(needed) };
}

/** Returns the kind that has these labels of complete runs in the fewest rows. */
function kindWith(labels: ReadonlySet<Label>): RollupKind {
  const [first] = labels;
  return first === undefined ? "total" : labels.size === 1 ? first : "cell";
}

/**
 * Returns whether a row matches the filters. Filters on dimensions the row does not have are
 * skipped.
 */
export function matches({ group }: RollupRow, filters: SpendFilters): boolean {
  for (const label of LABELS) {
    const wanted = filters[label];
    if (wanted !== undefined && labelOf(group, label) !== wanted) return false;
  }
  const model = modelOf(group);
  if (model === null) return true;
  return (filters.model === undefined || model.model === filters.model) &&
    (filters.provider === undefined || model.provider === filters.provider);
}

/**
 * Returns a label of a row's group; null if its runs have none. Call it only for labels that the
 * kind has.
 */
export function labelOf(group: RollupGroup, label: Label): string | null {
  if (group.kind === "cell" || group.kind === "model_cell") {
    return labelOrNull(group.labels[label]);
  }
  return group.kind === label ? labelOrNull(group.value) : null;
}

/** Returns the model of a row's group; null if its kind has none. */
export function modelOf(group: RollupGroup): ModelName | null {
  if (group.kind !== "model" && group.kind !== "model_cell") return null;
  return { provider: labelOrNull(group.value.provider), model: group.value.model };
}
