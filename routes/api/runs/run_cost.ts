/** `GET /v1/runs/{id}/cost`: the calls of a run, with the rates that priced them. */
import type { CostLine } from "../../../domain/pricing/price.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import type { RunPage } from "../../../domain/runs/event_page.ts";
import {
  costByModel,
  explainCalls,
  type ExplainedCall,
  type ModelCost,
} from "../../../domain/runs/explain_cost.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { matchStep, rateSource } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { COMMON, eventsCursor, runKind, TOKENS } from "./run_json.ts";
import { answerPage } from "./runs.ts";

export const getRunCost = answerPage((id, page, { isFirst }) =>
  runCost.write({ ...assemble(id, page), page, calls: explainCalls(page, isFirst) })
);

const line = shape.objectValue<CostLine>("PricedTokens", {
  kind: shape.oneOfValue("TokenKind", ["input", "cached_input", "cache_write", "output"])("kind"),
  tokens: shape.countValue("tokens"),
  usd_per_million: shape.wire(shape.dollarsValue.schema)(({ rate }) => usdPerMillion(rate)),
  cost_usd: shape.dollarsValue("cost"),
});

const pricingRow = shape.objectValue<RateRow>("PricingRow", {
  id: shape.textValue("id"),
  source: shape.wire(rateSource)("source"),
  effective_from: shape.instantValue.orNull("from"),
});

const pricedCall = shape.objectValue<ExplainedCall>("PricedCall", {
  event_id: shape.idValue("evt").orNull("eventId", "Null for the cost that a heartbeat reports."),
  ts: shape.instantValue("ts"),
  provider: shape.textValue.orNull("provider"),
  model: shape.textValue.orNull("model"),
  cost_usd: shape.dollarsValue("cost"),
  stated: shape.booleanValue(
    "stated",
    "True if the client sent this cost, so that no rate was applied.",
  ),
  match: shape.wire(matchStep).orNull(
    ({ pricedBy }) => pricedBy?.match,
    "Lookup step that matched the row.",
  ),
  row: pricingRow.orNull(({ pricedBy }) => pricedBy?.row),
  batch_rates: shape.booleanValue(
    ({ pricedBy }) => pricedBy?.isBatch === true,
    "True if priced at the row's batch rates.",
  ),
  tier_above_input_tokens: shape.countValue.orNull("tierAboveInputTokens"),
  lines: shape.listValue(line)("lines", "Tokens times rate, for each kind with tokens."),
  unpriced: shape.booleanValue("unpriced"),
  flags: shape.listValue(
    shape.oneOfValue("CallFlag", [
      "cached_exceeds_input",
      "covered_by_stated_cost",
      "covered_by_tokens",
    ]),
  )(
    "flags",
  ),
});

const modelCost = shape.objectValue<ModelCost>("ModelCost", {
  provider: shape.textValue.orNull("provider"),
  model: shape.textValue.orNull("model", "Null for cost that belongs to no model."),
  priced: shape.booleanValue(
    ({ priced }) => priced === true,
    "True if the rate card had a price or the client stated the cost.",
  ),
  llm_calls: shape.countValue("calls"),
  ...TOKENS,
  cost_usd: shape.dollarsValue("cost"),
});

/** A run with one page of its calls. */
interface CostView extends RunRecord {
  readonly page: RunPage;
  readonly calls: readonly ExplainedCall[];
}

/** Response of `GET /v1/runs/{id}/cost`. */
export const runCost = shape.objectValue<CostView>("RunCost", {
  id: COMMON.id,
  kind: runKind("kind"),
  cost_usd: shape.dollarsValue(({ cost }) => cost.amount),
  cost: COMMON.cost,
  by_model: shape.listValue(modelCost)(
    ({ page }) => costByModel(page),
    "Totals of the complete run, on every page.",
  ),
  calls: shape.listValue(pricedCall)("calls", "Calls among the events of this page."),
  events_cursor: eventsCursor(({ page }) => page.next),
});
