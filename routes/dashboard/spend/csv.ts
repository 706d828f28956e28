/** `/dashboard/spend.csv`: the groups of a question about spend, to the last digit. */
import { csvLine, textCell } from "../../../domain/core/csv.ts";
import { dollarsText } from "../../../domain/pricing/money.ts";
import { costPerSuccess, type SpendGroup, spendOf } from "../../../domain/spend/spend.ts";
import { type Grouping, parseSpendQuery } from "../../../domain/spend/spend_query.ts";
import { answerText, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { rowsOf } from "../../api/spend/spend.ts";
import { queryOf } from "../../http/query.ts";
import { spendQueryText } from "./paths.ts";

/** Sends the groups of the page as CSV. */
export function sendSpendCsv({ spend, environment }: AppDeps): Handle {
  return async (c) => {
    const query = parseSpendQuery(spendQueryText(queryOf(c)), environment.now());
    if (!query.ok) return fail(c, query.problem);
    const { from, to, groupBy } = query.value;
    const { team } = c.get("principal");
    const read = rowsOf(spend, team, query.value);
    const sums = await spend.ask(team, () => spendOf(query.value, read));
    if (!sums.ok) return fail(c, sums.problem);
    const lines = sums.value.groups.map((group) => csvLine(cellsOf(groupBy, group)));
    const text = csvLine(namesOf(groupBy)) + lines.join("");
    return answerText(c, 200, text, "text/csv; charset=utf-8; header=present", {
      "Content-Disposition": `attachment; filename="spend-${groupBy}-${from}-${to}.csv"`,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    });
  };
}

function namesOf(groupBy: Grouping): string[] {
  return [
    ...(groupBy === "model" ? ["provider", "model"] : [groupBy]),
    "groups_folded",
    "cost_usd",
    "runs",
    "successful_runs",
    "cost_per_successful_run",
    "events",
    "llm_calls",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "unpriced_llm_calls",
    "unpriced_input_tokens",
    "unpriced_output_tokens",
    "unpriced_cached_input_tokens",
  ];
}

/** A line; empty where nothing is known. */
function cellsOf(groupBy: Grouping, { key, model, folded, measures, runsKnown }: SpendGroup) {
  const perSuccess = runsKnown ? costPerSuccess(measures) : null;
  return [
    ...(groupBy === "model" ? [textCell(model?.provider ?? ""), textCell(model?.model ?? key)] : [
      textCell(key),
    ]),
    folded ?? "",
    dollarsText(measures.cost),
    runsKnown ? measures.runs : "",
    runsKnown ? measures.succeeded : "",
    perSuccess === null ? "" : dollarsText(perSuccess),
    measures.events,
    measures.calls,
    measures.inputTokens,
    measures.outputTokens,
    measures.cachedInputTokens,
    measures.unpricedCalls,
    measures.unpricedInputTokens,
    measures.unpricedOutputTokens,
    measures.unpricedCachedInputTokens,
  ].map(String);
}
