/** The wire form of spend (`docs/SPEND.md`). */
import { type RawJson, rawOf } from "../../../domain/core/raw_json.ts";
import { exactCount, type ExactNumber } from "../../../domain/core/exact_number.ts";
import { dollars, type Picodollars } from "../../../domain/pricing/money.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { costPerSuccess, type Spend, type SpendGroup } from "../../../domain/spend/spend.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import type { SpendQuery } from "../../../domain/spend/spend_query.ts";
import type { EstimatedModel, Unpriced } from "../../../domain/spend/unpriced.ts";

/** Writes spend with its query. */
export function spendJson(query: SpendQuery, { totals, groups }: Spend): RawJson {
  return rawOf({
    from: query.from,
    to: query.to,
    group_by: query.groupBy,
    filters: filterFields(query),
    totals: measureFields(totals, true),
    groups: groups.map((group) => groupFields(query, group)),
  });
}

function filterFields({ filters }: SpendQuery) {
  const active = FILTERS.filter(({ filter }) => filters[filter] !== undefined);
  return Object.fromEntries(
    active.map(({ parameter, filter }) => [parameter, filters[filter] ?? UNATTRIBUTED]),
  );
}

function groupFields({ groupBy }: SpendQuery, group: SpendGroup) {
  const { key, model, folded, measures, runsKnown } = group;
  return {
    key,
    ...(groupBy === "model"
      ? { provider: model?.provider ?? null, model: model?.model ?? null }
      : {}),
    ...(folded === null ? {} : { folded }),
    ...measureFields(measures, runsKnown),
  };
}

/** Wire fields of aggregates; counts of runs are null where they are unknown. */
function measureFields(sums: Measures, runsKnown: boolean) {
  return {
    runs: runsKnown ? sums.runs : null,
    successful_runs: runsKnown ? sums.succeeded : null,
    cost_usd: dollars(sums.cost),
    cost_per_successful_run: runsKnown ? dollarsOrNull(costPerSuccess(sums)) : null,
    events: sums.events,
    llm_calls: sums.calls,
    input_tokens: exactCount(sums.inputTokens),
    output_tokens: exactCount(sums.outputTokens),
    cached_input_tokens: exactCount(sums.cachedInputTokens),
    unpriced: {
      llm_calls: sums.unpricedCalls,
      input_tokens: exactCount(sums.unpricedInputTokens),
      output_tokens: exactCount(sums.unpricedOutputTokens),
      cached_input_tokens: exactCount(sums.unpricedCachedInputTokens),
    },
  };
}

function dollarsOrNull(amount: Picodollars | null): ExactNumber | number | null {
  return amount === null ? null : dollars(amount);
}

/** Writes the models without a price. */
export function unpricedJson({ from, to }: SpendQuery, unpriced: Unpriced): RawJson {
  return rawOf({
    from,
    to,
    models: unpriced.models.map(modelFields),
    models_left_out: unpriced.leftOut,
    estimate_total_usd: dollars(unpriced.estimateTotal),
  });
}

function modelFields(unpriced: EstimatedModel) {
  const { name, estimate } = unpriced;
  return {
    provider: name.provider,
    model: name.model,
    llm_calls: unpriced.calls,
    input_tokens: exactCount(unpriced.inputTokens),
    output_tokens: exactCount(unpriced.outputTokens),
    cached_input_tokens: exactCount(unpriced.cachedInputTokens),
    first_seen: unpriced.firstSeen,
    last_seen: unpriced.lastSeen,
    estimate: estimate && estimateFields(estimate),
  };
}

function estimateFields({ cost, row }: NonNullable<EstimatedModel["estimate"]>) {
  const { provider, model, id } = row;
  return {
    cost_usd: dollars(cost),
    priced_as: { provider, model, row: id },
    is_estimate: true,
  };
}
