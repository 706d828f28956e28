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
import {
  boolean,
  count,
  dollars,
  id,
  instant,
  list,
  object,
  oneOf,
  text,
  wire,
} from "../../openapi/wire.ts";
import { COMMON, eventsCursor, runKind, TOKENS } from "./run_json.ts";
import { answerPage } from "./runs.ts";

export const getRunCost = answerPage((id, page, { isFirst }) =>
  runCost.write({ ...assemble(id, page), page, calls: explainCalls(page, isFirst) })
);

const line = object<CostLine>("PricedTokens", {
  kind: oneOf("TokenKind", ["input", "cached_input", "cache_write", "output"])("kind"),
  tokens: count("tokens"),
  usd_per_million: wire(dollars.schema)(({ rate }) => usdPerMillion(rate)),
  cost_usd: dollars("cost"),
});

const pricingRow = object<RateRow>("PricingRow", {
  id: text("id"),
  source: wire(rateSource)("source"),
  effective_from: instant.orNull("from"),
});

const pricedCall = object<ExplainedCall>("PricedCall", {
  event_id: id("evt").orNull("eventId", "Null for the cost that a heartbeat reports."),
  ts: instant("ts"),
  provider: text.orNull("provider"),
  model: text.orNull("model"),
  cost_usd: dollars("cost"),
  stated: boolean("stated", "True if the client sent this cost, so that no rate was applied."),
  match: wire(matchStep).orNull(
    ({ pricedBy }) => pricedBy?.match,
    "Lookup step that matched the row.",
  ),
  row: pricingRow.orNull(({ pricedBy }) => pricedBy?.row),
  batch_rates: boolean(
    ({ pricedBy }) => pricedBy?.isBatch === true,
    "True if priced at the row's batch rates.",
  ),
  tier_above_input_tokens: count.orNull("tierAboveInputTokens"),
  lines: list(line)("lines", "Tokens times rate, for each kind with tokens."),
  unpriced: boolean("unpriced"),
  flags: list(oneOf("CallFlag", ["cached_exceeds_input", "covered_by_stated_cost"]))("flags"),
});

const modelCost = object<ModelCost>("ModelCost", {
  provider: text.orNull("provider"),
  model: text.orNull("model", "Null for cost that belongs to no model."),
  priced: boolean("priced", "True if the rate card had a price or the client stated the cost."),
  llm_calls: count("calls"),
  ...TOKENS,
  cost_usd: dollars("cost"),
});

/** A run with one page of its calls. */
interface CostView extends RunRecord {
  readonly page: RunPage;
  readonly calls: readonly ExplainedCall[];
}

/** Response of `GET /v1/runs/{id}/cost`. */
export const runCost = object<CostView>("RunCost", {
  id: COMMON.id,
  kind: runKind("kind"),
  cost_usd: dollars(({ cost }) => cost.amount),
  cost: COMMON.cost,
  by_model: list(modelCost)(
    ({ page }) => costByModel(page),
    "Totals of the complete run, on every page.",
  ),
  calls: list(pricedCall)("calls", "Calls among the events of this page."),
  events_cursor: eventsCursor(({ page }) => page.next),
});
