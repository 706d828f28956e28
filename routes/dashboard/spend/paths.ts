/** Where pages of spend lead: to other questions about it, and to the runs behind a figure. */
import type { SpendGroup } from "../../../domain/spend/spend.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import type { Grouping, SpendQuery } from "../../../domain/spend/spend_query.ts";
import { queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";

/** The parameters of a question, as they were sent. */
export type SpendPageQuery = ReadonlyMap<string, string>;

/** The parameters that links keep, in the order they have in URLs. */
const NAMES: readonly string[] = [
  "from",
  "to",
  "group_by",
  ...FILTERS.map(({ parameter }) => parameter),
];

/** The query of the same question with some of its parameters changed; null takes one away. */
export function askedText(
  asked: SpendPageQuery,
  changes: Readonly<Record<string, string | null>> = {},
) {
  const names = [...NAMES, ...Object.keys(changes).filter((name) => !NAMES.includes(name))];
  return queryText(
    names.map((name) => [name, Object.hasOwn(changes, name) ? changes[name] : asked.get(name)]),
  );
}

/** The page with the same question, some of its parameters changed. */
export function spendPath(
  asked: SpendPageQuery,
  changes: Readonly<Record<string, string | null>> = {},
) {
  return SPEND_PATH + askedText(asked, changes);
}

/** What to look at next inside a group. */
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
  asked: SpendPageQuery,
  groupBy: Grouping,
  group: SpendGroup,
): string | null {
  const filter = groupFilter(groupBy, group);
  return filter && spendPath(asked, { ...filter, group_by: NEXT[groupBy] });
}

/** The list of the runs that a group or, without one, a whole answer is of; null where there is none. */
export function runsOfGroupPath(
  asked: SpendPageQuery,
  query: SpendQuery,
  group: SpendGroup | null,
): string | null {
  const filter = group === null ? {} : groupFilter(query.groupBy, group);
  if (filter === null) return null;
  const sent = new Map<string, string>([
    ...FILTERS.flatMap(({ parameter }): [string, string][] => {
      const value = asked.get(parameter);
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
