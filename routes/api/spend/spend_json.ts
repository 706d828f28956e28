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
import {
  countValue,
  dayValue,
  dollarsValue,
  listValue,
  objectValue,
  oneOfValue,
  textValue,
  wire,
  type WireFields,
} from "../../openapi/wire.ts";
import { TOKENS } from "../runs/run_json.ts";

/** Attribute to group by. */
export const grouping = oneOfValue("SpendGrouping", GROUPINGS);

const unpricedSums = objectValue<Measures>("UnpricedSums", {
  llm_calls: countValue("unpricedCalls"),
  input_tokens: countValue("unpricedInputTokens"),
  output_tokens: countValue("unpricedOutputTokens"),
  cached_input_tokens: countValue("unpricedCachedInputTokens"),
});

/** Aggregates; counts of runs are null where they are unknown. */
interface Sums extends Measures {
  readonly runsKnown: boolean;
}

const SUMS: WireFields<Sums> = {
  runs: countValue.orNull(
    ({ runs, runsKnown }) => runsKnown ? runs : null,
    "Null where unknown, as in the group `(unattributed)` by model.",
  ),
  successful_runs: countValue.orNull(({ succeeded, runsKnown }) => runsKnown ? succeeded : null),
  cost_usd: dollarsValue("cost"),
  cost_per_successful_run: dollarsValue.orNull((sums) =>
    sums.runsKnown ? costPerSuccess(sums) : null
  ),
  events: countValue("events"),
  llm_calls: countValue("calls"),
  ...TOKENS,
  unpriced: unpricedSums((sums) => sums, "Calls and tokens without a price."),
};

/** A group, with its model if the query groups by model. */
type Group = Sums & Pick<SpendGroup, "key" | "folded"> & { readonly model?: SpendGroup["model"] };

const spendGroup = objectValue<Group>("SpendGroup", {
  key: textValue.orNull(
    "key",
    "Value of the group; `(unattributed)` for runs without one, `(other)` for the rest.",
  ),
  provider: nameOf("provider"),
  model: nameOf("model"),
  folded: countValue.optional(
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
export const spendAnswer = objectValue<Spend & { readonly query: SpendQuery }>("Spend", {
  from: dayValue(({ query }) => query.from),
  to: dayValue(({ query }) => query.to),
  group_by: grouping(({ query }) => query.groupBy),
  filters: filters(({ query }) => query.filters),
  totals: objectValue("SpendSums", SUMS)(({ totals }) => ({ ...totals, runsKnown: true })),
  groups: listValue(spendGroup)(({ query, groups }) =>
    groups.map(({ key, model, folded, measures, runsKnown }) => ({
      ...measures,
      key,
      folded,
      runsKnown,
      ...query.groupBy === "model" ? { model } : {},
    }))
  ),
});

const source = objectValue<NonNullable<EstimatedModel["estimate"]>["row"]>("EstimateSource", {
  provider: textValue.orNull("provider"),
  model: textValue("model"),
  row: textValue("id"),
}, "The priced model and its row of the rate card.");

const estimate = objectValue<NonNullable<EstimatedModel["estimate"]>>("CostEstimate", {
  cost_usd: dollarsValue("cost"),
  priced_as: source("row"),
  is_estimate: wire(z.literal(true))(() => true),
});

const unpricedModel = objectValue<EstimatedModel>("UnpricedModel", {
  provider: textValue.orNull(({ name }) => name.provider),
  model: textValue(({ name }) => name.model),
  reason: oneOfValue("UnpricedReason", UNPRICED_REASONS)(
    "reason",
    "`no_price`: the rate card has no price; `no_tokens`: the calls have no token counts.",
  ),
  llm_calls: countValue("calls"),
  ...TOKENS,
  first_seen: dayValue("firstSeen", "First day within the range."),
  last_seen: dayValue("lastSeen", "Last day within the range."),
  estimate: estimate.orNull("estimate", "Estimated cost at the rates of the nearest priced model."),
});

const unpricedModels = listValue(unpricedModel);

/** The models without a price. */
export const unpricedAnswer = objectValue<SpendQuery & Unpriced>("UnpricedModels", {
  from: dayValue("from"),
  to: dayValue("to"),
  models: wire(z.array(unpricedModel.schema).max(UNPRICED_MODELS_MAX), unpricedModels.write)(
    "models",
  ),
  models_left_out: countValue("leftOut"),
  estimate_total_usd: dollarsValue("estimateTotal"),
});
