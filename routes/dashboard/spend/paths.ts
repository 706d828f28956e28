/** Links from pages of spend: to other groupings and filters, and to the runs of a group. */
import type { Parameters } from "../../../domain/core/query.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { DailySpend } from "../../../domain/spend/daily.ts";
import type { SpendGroup } from "../../../domain/spend/spend.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import type { Grouping, SpendQuery } from "../../../domain/spend/spend_query.ts";
import { queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";

/** An answered page. */
export interface SpendAnswer {
  /** Parameters of the page as received. */
  readonly parameters: Parameters;
  readonly query: SpendQuery;
  readonly spend: DailySpend;
  /** Cost of as many days before; null if that takes too many rows. */
  readonly before: Picodollars | null;
}

const FILTER_NAMES: readonly string[] = FILTERS.map(({ parameter }) => parameter);

/** Parameters that links preserve, in URL order. */
const NAMES = ["from", "to", "group_by", ...FILTER_NAMES];

/** Adds the default of `group_by` to the query of a request. */
export function spendQueryText(query: string): string {
  // The first of repeated parameters wins.
  return `${query}&group_by=agent`;
}

function pick(parameters: Parameters, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, parameters.get(name)]));
}

/** Builds the query with some of its parameters changed; null removes one. */
export function queryWith(
  parameters: Parameters,
  changes: Readonly<Record<string, string | null>> = {},
): string {
  return queryText(Object.entries({ ...pick(parameters, NAMES), ...changes }));
}

/** Builds the path of the page with some of its parameters changed; null removes one. */
export function spendPath(
  parameters: Parameters,
  changes: Readonly<Record<string, string | null>>,
): string {
  return SPEND_PATH + queryWith(parameters, changes);
}

/** Returns the parameters that select one group; null if no parameters do. */
function groupFilter(groupBy: Grouping, { key, model, folded }: SpendGroup) {
  if (folded !== null) return null;
  switch (groupBy) {
    case "day":
      return { from: key, to: key };
    case "customer":
      return { customer_id: key };
    case "model":
      return model && { model: model.model, provider: model.provider ?? UNATTRIBUTED };
    default:
      return { [groupBy]: key };
  }
}

/** Path of the page about one group; null if there is none. */
export function insidePath({ parameters, query }: SpendAnswer, group: SpendGroup): string | null {
  const filter = groupFilter(query.groupBy, group);
  const next = query.groupBy === "agent" ? "model" : "agent";
  return filter && spendPath(parameters, { ...filter, group_by: next });
}

/**
 * Path of the runs of a group or, without a group, of the complete query; null if there is none.
 */
export function runsOfGroupPath(
  { parameters, query: { from, to, groupBy } }: Pick<SpendAnswer, "parameters" | "query">,
  group: SpendGroup | null,
): string | null {
  const filter = group === null ? {} : groupFilter(groupBy, group);
  if (filter === null) return null;
  const present = FILTER_NAMES.filter((name) => parameters.has(name));
  const pairs = { ...pick(parameters, present), from, to, ...filter, root: "false" };
  // The run list accepts a provider only together with a model.
  return RUNS_PATH + queryText(
    Object.entries(pairs).filter(([name]) => name !== "provider" || pairs.model !== undefined),
  );
}
