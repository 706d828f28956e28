/** Links from pages of spend: to other groupings and filters, and to the runs of a group. */
import type { SpendGroup } from "../../../domain/spend/spend.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import type { Grouping, SpendQuery } from "../../../domain/spend/spend_query.ts";
import { queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";

/** Parameters of the page as received. */
export type SpendPageQuery = ReadonlyMap<string, string>;

/** Parameters that links preserve, in URL order. */
const NAMES: readonly string[] = [
  "from",
  "to",
  "group_by",
  ...FILTERS.map(({ parameter }) => parameter),
];

/** Adds the default of `group_by` to the query of a request. */
export function spendQueryText(query: string): string {
  // The first of repeated parameters wins.
  return `${query}&group_by=agent`;
}

/** Builds the query with some of its parameters changed; null removes one. */
export function queryWith(
  parameters: SpendPageQuery,
  changes: Readonly<Record<string, string | null>> = {},
) {
  const names = [...NAMES, ...Object.keys(changes).filter((name) => !NAMES.includes(name))];
  return queryText(
    names.map((
      name,
    ) => [name, Object.hasOwn(changes, name) ? changes[name] : parameters.get(name)]),
  );
}

/** Builds the path of the page with some of its parameters changed; null removes one. */
export function spendPath(
  parameters: SpendPageQuery,
  changes: Readonly<Record<string, string | null>> = {},
) {
  return SPEND_PATH + queryWith(parameters, changes);
}

/** The grouping to open within a group of each grouping. */
const NEXT: Readonly<Record<Grouping, Grouping>> = {
  day: "agent",
  agent: "model",
  customer: "agent",
  feature: "agent",
  model: "agent",
  status: "agent",
};

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
export function insidePath(
  parameters: SpendPageQuery,
  groupBy: Grouping,
  group: SpendGroup,
): string | null {
  const filter = groupFilter(groupBy, group);
  return filter && spendPath(parameters, { ...filter, group_by: NEXT[groupBy] });
}

/**
 * Path of the runs of a group or, without a group, of the complete query; null if there is none.
 */
export function runsOfGroupPath(
  parameters: SpendPageQuery,
  query: SpendQuery,
  group: SpendGroup | null,
): string | null {
  const filter = group === null ? {} : groupFilter(query.groupBy, group);
  if (filter === null) return null;
  const pairs = new Map<string, string>([
    ...FILTERS.flatMap(({ parameter }): [string, string][] => {
      const value = parameters.get(parameter);
      return value === undefined ? [] : [[parameter, value]];
    }),
    ["from", query.from],
    ["to", query.to],
    ...Object.entries(filter),
  ]);
  // The run list accepts a provider only together with a model.
  if (!pairs.has("model")) pairs.delete("provider");
  return `${RUNS_PATH}${queryText(pairs)}`;
}
