/** The wire form of spend (`docs/SPEND.md`). */
import { z } from "zod";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { costPerSuccess, type Spend, type SpendGroup } from "../../../domain/spend/spend.ts";
import { GROUPINGS, type SpendQuery } from "../../../domain/spend/spend_query.ts";
import {
  type EstimatedModel,
  type Unpriced,
  UNPRICED_MODELS_MAX,
} from "../../../domain/spend/unpriced.ts";
import {
  count,
  day,
  dollars,
  type Fields,
  list,
  object,
  oneOf,
  text,
  wire,
} from "../../openapi/wire.ts";
import { TOKENS } from "../runs/run_json.ts";

/** Attribute to group by. */
export const grouping = oneOf("SpendGrouping", GROUPINGS);

const unpricedSums = object<Measures>("UnpricedSums", {
  llm_calls: count("unpricedCalls"),
  input_tokens: count("unpricedInputTokens"),
  output_tokens: count("unpricedOutputTokens"),
  cached_input_tokens: count("unpricedCachedInputTokens"),
});

/** Aggregates; counts of runs are null where they are unknown. */
interface Sums extends Measures {
  readonly runsKnown: boolean;
}

const SUMS: Fields<Sums> = {
  runs: count.orNull(
    ({ runs, runsKnown }) => runsKnown ? runs : null,
    "Null where unknown, as in the group `(unattributed)` by model.",
  ),
  successful_runs: count.orNull(({ succeeded, runsKnown }) => runsKnown ? succeeded : null),
  cost_usd: dollars("cost"),
  cost_per_successful_run: dollars.orNull((sums) => sums.runsKnown ? costPerSuccess(sums) : null),
  events: count("events"),
  llm_calls: count("calls"),
  ...TOKENS,
  unpriced: unpricedSums((sums) => sums, "Calls and tokens without a price."),
};

/** A group, with its model if the query groups by model. */
type Group = Sums & Pick<SpendGroup, "key" | "folded"> & { readonly model?: SpendGroup["model"] };

const spendGroup = object<Group>("SpendGroup", {
  key: text.orNull(
    "key",
    "Value of the group; `(unattributed)` for runs without one, `(other)` for the rest.",
  ),
  provider: nameOf("provider"),
  model: nameOf("model"),
  folded: count.optional(
    ({ folded }) => folded ?? undefined,
    "Number of groups combined in `(other)`; otherwise absent.",
  ),
  ...SUMS,
});

function nameOf(part: "provider" | "model") {
  return wire(z.string().nullable()).optional<Group>(
    ({ model }) => model === undefined ? undefined : model?.[part] ?? null,
    "Only when grouped by model.",
  );
}

const filters = wire<SpendQuery["filters"]>(
  z.record(z.string(), z.string())
    .meta({ id: "SpendFilters", description: "Filters of the query, by parameter." }),
  (filters) => {
    const active = FILTERS.filter(({ filter }) => filters[filter] !== undefined);
    return rawOf(Object.fromEntries(
      active.map(({ parameter, filter }) => [parameter, filters[filter] ?? UNATTRIBUTED]),
    ));
  },
);

/** Spend with its query. */
export const spendAnswer = object<Spend & { readonly query: SpendQuery }>("Spend", {
  from: day(({ query }) => query.from),
  to: day(({ query }) => query.to),
  group_by: grouping(({ query }) => query.groupBy),
  filters: filters(({ query }) => query.filters),
  totals: object("SpendSums", SUMS)(({ totals }) => ({ ...totals, runsKnown: true })),
  groups: list(spendGroup)(({ query, groups }) =>
    groups.map(({ key, model, folded, measures, runsKnown }) => ({
      ...measures,
      key,
      folded,
      runsKnown,
      ...query.groupBy === "model" ? { model } : {},
    }))
  ),
});

const source = object<NonNullable<EstimatedModel["estimate"]>["row"]>("EstimateSource", {
  provider: text.orNull("provider"),
  model: text("model"),
  row: text("id"),
}, "The priced model and its row of the rate card.");

const estimate = object<NonNullable<EstimatedModel["estimate"]>>("CostEstimate", {
  cost_usd: dollars("cost"),
  priced_as: source("row"),
  is_estimate: wire(z.literal(true))(() => true),
});

const unpricedModel = object<EstimatedModel>("UnpricedModel", {
  provider: text.orNull(({ name }) => name.provider),
  model: text(({ name }) => name.model),
  llm_calls: count("calls"),
  ...TOKENS,
  first_seen: day("firstSeen", "First day within the range."),
  last_seen: day("lastSeen", "Last day within the range."),
  estimate: estimate.orNull("estimate", "Estimated cost at the rates of the nearest priced model."),
});

const unpricedModels = list(unpricedModel);

/** The models without a price. */
export const unpricedAnswer = object<SpendQuery & Unpriced>("UnpricedModels", {
  from: day("from"),
  to: day("to"),
  models: wire(z.array(unpricedModel.schema).max(UNPRICED_MODELS_MAX), unpricedModels.write)(
    "models",
  ),
  models_left_out: count("leftOut"),
  estimate_total_usd: dollars("estimateTotal"),
});
