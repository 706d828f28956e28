/** Links from pages of spend: to other groupings and filters, and to the runs of a group. */
import type { SpendGroup } from "../../../domain/spend/spend.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import type { Grouping, SpendQuery } from "../../../domain/spend/spend_query.ts";
import { queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";

/** The parameters of the page, as they were sent. */
export type SpendPageQuery = ReadonlyMap<string, string>;

/** The parameters that links keep, in the order they have in URLs. */
const NAMES: readonly string[] = [
  "from",
  "to",
  "group_by",
  ...FILTERS.map(({ parameter }) => parameter),
];

/** Returns the query of a request with the default of `group_by`. */
export function spendQueryText(query: string): string {
  // Of repeated parameters the first counts.
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

/** The grouping inside a group. */
const NEXT: Readonly<Record<Grouping, Grouping>> = {
  day: "agent",
  agent: "model",
  customer: "agent",
  feature: "agent",
  model: "agent",
  status: "agent",
};

/** The parameters that leave only a group; null for what no parameters say. */
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

/** The page about one group alone; null where there is none. */
export function insidePath(
  parameters: SpendPageQuery,
  groupBy: Grouping,
  group: SpendGroup,
): string | null {
  const filter = groupFilter(groupBy, group);
  return filter && spendPath(parameters, { ...filter, group_by: NEXT[groupBy] });
}

/** The list of the runs that a group or, without one, a whole answer is of; null where there is none. */
export function runsOfGroupPath(
  parameters: SpendPageQuery,
  query: SpendQuery,
  group: SpendGroup | null,
): string | null {
  const filter = group === null ? {} : groupFilter(query.groupBy, group);
  if (filter === null) return null;
  const sent = new Map<string, string>([
    ...FILTERS.flatMap(({ parameter }): [string, string][] => {
      const value = parameters.get(parameter);
      return value === undefined ? [] : [[parameter, value]];
    }),
    ["from", query.from],
    ["to", query.to],
    ...Object.entries(filter),
  ]);
  // The list knows a provider only beside a model.
  if (!sent.has("model")) sent.delete("provider");
  return `${RUNS_PATH}${queryText(sent)}`;
}
