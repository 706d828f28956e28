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
  UNPRICED_REASONS,
} from "../../../domain/spend/unpriced.ts";
import * as shape from "../../openapi/wire.ts";
import { TOKENS } from "../runs/run_json.ts";

/** Attribute to group by. */
export const grouping = shape.oneOfValue("SpendGrouping", GROUPINGS);

const unpricedSums = shape.objectValue<Measures>("UnpricedSums", {
  llm_calls: shape.countValue("unpricedCalls"),
  input_tokens: shape.countValue("unpricedInputTokens"),
  output_tokens: shape.countValue("unpricedOutputTokens"),
  cached_input_tokens: shape.countValue("unpricedCachedInputTokens"),
});

/** Aggregates; counts of runs are null where they are unknown. */
interface Sums extends Measures {
  readonly runsKnown: boolean;
}

const SUMS: shape.WireFields<Sums> = {
  runs: shape.countValue.orNull(
    ({ runs, runsKnown }) => runsKnown ? runs : null,
    "Null where unknown, as in the group `(unattributed)` by model.",
  ),
  successful_runs: shape.countValue.orNull(({ succeeded, runsKnown }) =>
    runsKnown ? succeeded : null
  ),
  cost_usd: shape.dollarsValue("cost"),
  cost_per_successful_run: shape.dollarsValue.orNull((sums) =>
    sums.runsKnown ? costPerSuccess(sums) : null
  ),
  events: shape.countValue("events"),
  llm_calls: shape.countValue("calls"),
  ...TOKENS,
  unpriced: unpricedSums((sums) => sums, "Calls and tokens without a price."),
};

/** A group, with its model if the query groups by model. */
type Group = Sums & Pick<SpendGroup, "key" | "folded"> & { readonly model?: SpendGroup["model"] };

const spendGroup = shape.objectValue<Group>("SpendGroup", {
  key: shape.textValue.orNull(
    "key",
    "Value of the group; `(unattributed)` for runs without one, `(other)` for the rest.",
  ),
  provider: nameOf("provider"),
  model: nameOf("model"),
  folded: shape.countValue.optional(
    ({ folded }) => folded ?? undefined,
    "Number of groups combined in `(other)`; otherwise absent.",
  ),
  ...SUMS,
});

function nameOf(part: "provider" | "model") {
  return shape.wire(z.string().nullable()).optional<Group>(
    ({ model }) => model === undefined ? undefined : model?.[part] ?? null,
    "Only when grouped by model.",
  );
}

const filters = shape.wire<SpendQuery["filters"]>(
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
export const spendAnswer = shape.objectValue<Spend & { readonly query: SpendQuery }>("Spend", {
  from: shape.dayValue(({ query }) => query.from),
  to: shape.dayValue(({ query }) => query.to),
  group_by: grouping(({ query }) => query.groupBy),
  filters: filters(({ query }) => query.filters),
  totals: shape.objectValue("SpendSums", SUMS)(({ totals }) => ({ ...totals, runsKnown: true })),
  groups: shape.listValue(spendGroup)(({ query, groups }) =>
    groups.map(({ key, model, folded, measures, runsKnown }) => ({
      ...measures,
      key,
      folded,
      runsKnown,
      ...query.groupBy === "model" ? { model } : {},
    }))
  ),
});

const source = shape.objectValue<NonNullable<EstimatedModel["estimate"]>["row"]>("EstimateSource", {
  provider: shape.textValue.orNull("provider"),
  model: shape.textValue("model"),
  row: shape.textValue("id"),
}, "The priced model and its row of the rate card.");

const estimate = shape.objectValue<NonNullable<EstimatedModel["estimate"]>>("CostEstimate", {
  cost_usd: shape.dollarsValue("cost"),
  priced_as: source("row"),
  is_estimate: shape.wire(z.literal(true))(() => true),
});

const unpricedModel = shape.objectValue<EstimatedModel>("UnpricedModel", {
  provider: shape.textValue.orNull(({ name }) => name.provider),
  model: shape.textValue(({ name }) => name.model),
  reason: shape.oneOfValue("UnpricedReason", UNPRICED_REASONS)(
    "reason",
    "`no_price`: the rate card has no price; `no_tokens`: the calls have no token counts.",
  ),
  llm_calls: shape.countValue("calls"),
  ...TOKENS,
  first_seen: shape.dayValue("firstSeen", "First day within the range."),
  last_seen: shape.dayValue("lastSeen", "Last day within the range."),
  estimate: estimate.orNull("estimate", "Estimated cost at the rates of the nearest priced model."),
});

const unpricedModels = shape.listValue(unpricedModel);

/** The models without a price. */
export const unpricedAnswer = shape.objectValue<SpendQuery & Unpriced>("UnpricedModels", {
  from: shape.dayValue("from"),
  to: shape.dayValue("to"),
  models: shape.wire(z.array(unpricedModel.schema).max(UNPRICED_MODELS_MAX), unpricedModels.write)(
    "models",
  ),
  models_left_out: shape.countValue("leftOut"),
  estimate_total_usd: shape.dollarsValue("estimateTotal"),
});
