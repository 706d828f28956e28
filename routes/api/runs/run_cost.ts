/** `GET /v1/runs/{id}/cost`: the calls of a run, with the rates that priced them. */
import {
  costByModel,
  explainCalls,
  type ExplainedCall,
  type ModelCost,
} from "../../../domain/runs/explain_cost.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { type RawJson, rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { exactCount } from "../../../domain/core/exact_number.ts";
import { dollars } from "../../../domain/pricing/money.ts";
import type { RunPage } from "../../../domain/runs/event_page.ts";
import type { CostLine } from "../../../domain/pricing/price.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { RateMatch } from "../../../domain/pricing/rates.ts";
import { assemble } from "../../../domain/runs/record.ts";
import { formatInstant, formatInstantOrNull } from "../../../domain/core/time.ts";
import { costJson, cursorText } from "./run_json.ts";
import { answerPage } from "./runs.ts";

export const getRunCost = answerPage((id, run, { isFirst }) =>
  runCostJson(id, run, explainCalls(run, isFirst))
);

function runCostJson(id: RunId, run: RunPage, calls: readonly ExplainedCall[]): RawJson {
  const { kind, cost } = assemble(id, run);
  return writeObject([
    ["id", rawOf(id)],
    ["kind", rawOf(kind)],
    ["cost_usd", rawOf(dollars(cost.amount))],
    ["cost", costJson(cost)],
    ["by_model", rawOf(costByModel(run).map(modelFields))],
    ["calls", rawOf(calls.map(callFields))],
    ["events_cursor", rawOf(run.next === null ? null : cursorText(run.next))],
  ]);
}

function modelFields(line: ModelCost) {
  return {
    provider: line.provider,
    model: line.model,
    priced: line.priced,
    llm_calls: line.calls,
    input_tokens: exactCount(line.inputTokens),
    output_tokens: exactCount(line.outputTokens),
    cached_input_tokens: exactCount(line.cachedInputTokens),
    cost_usd: dollars(line.cost),
  };
}

function callFields(call: ExplainedCall) {
  return {
    event_id: call.eventId,
    ts: formatInstant(call.ts),
    provider: call.provider,
    model: call.model,
    cost_usd: dollars(call.cost),
    stated: call.stated,
    match: call.pricedBy?.match ?? null,
    row: call.pricedBy === null ? null : rowFields(call.pricedBy),
    batch_rates: call.pricedBy?.isBatch === true,
    tier_above_input_tokens: call.tierAboveInputTokens,
    lines: call.lines.map(lineFields),
    unpriced: call.unpriced,
    flags: call.flags,
  };
}

function rowFields({ row: { id, source, from } }: RateMatch) {
  return { id, source, effective_from: formatInstantOrNull(from) };
}

function lineFields({ kind, tokens, rate, cost }: CostLine) {
  return { kind, tokens, usd_per_million: usdPerMillion(rate), cost_usd: dollars(cost) };
}
