/** `/dashboard/spend.csv`: the groups of a spend query, with exact amounts. */
import { csvLine, textCell } from "../../../domain/core/csv.ts";
import { dollarsText } from "../../../domain/pricing/money.ts";
import { costPerSuccess, type SpendGroup, spendOf } from "../../../domain/spend/spend.ts";
import { type Grouping, parseSpendQuery } from "../../../domain/spend/spend_query.ts";
import { answerText, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { rowsOf } from "../../api/spend/spend.ts";
import { queryOf } from "../../http/query.ts";
import { spendQueryText } from "./paths.ts";

/** Responds with the groups of the page as CSV. */
export function sendSpendCsv({ spend, environment }: AppDeps): Handle {
  return async (c) => {
    const query = parseSpendQuery(spendQueryText(queryOf(c)), environment.now());
    if (!query.ok) return fail(c, query.problem);
    const { from, to, groupBy } = query.value;
    const { team } = c.get("principal");
    const read = rowsOf(spend, team, query.value);
    const sums = await spend.ask(team, () => spendOf(query.value, read));
    if (!sums.ok) return fail(c, sums.problem);
    const columns = columnsFor(groupBy);
    const lines = sums.value.groups.map((group) =>
      csvLine(columns.map(([, cell]) => String(cell(group))))
    );
    const text = csvLine(columns.map(([name]) => name)) + lines.join("");
    return answerText(c, 200, text, "text/csv; charset=utf-8; header=present", {
      "Content-Disposition": `attachment; filename="spend-${groupBy}-${from}-${to}.csv"`,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    });
  };
}

type CsvColumn = readonly [name: string, cell: (group: SpendGroup) => string | number | bigint];

/** Metric columns; a cell is empty if its value is unknown. */
const SUM_COLUMNS: readonly CsvColumn[] = [
  ["groups_folded", ({ folded }) => folded ?? ""],
  ["cost_usd", ({ measures }) => dollarsText(measures.cost)],
  ["runs", ({ measures, runsKnown }) => runsKnown ? measures.runs : ""],
  ["successful_runs", ({ measures, runsKnown }) => runsKnown ? measures.succeeded : ""],
  ["cost_per_successful_run", ({ measures, runsKnown }) => {
    const perSuccess = runsKnown ? costPerSuccess(measures) : null;
    return perSuccess === null ? "" : dollarsText(perSuccess);
  }],
  ["events", ({ measures }) => measures.events],
  ["llm_calls", ({ measures }) => measures.calls],
  ["input_tokens", ({ measures }) => measures.inputTokens],
  ["output_tokens", ({ measures }) => measures.outputTokens],
  ["cached_input_tokens", ({ measures }) => measures.cachedInputTokens],
  ["unpriced_llm_calls", ({ measures }) => measures.unpricedCalls],
  ["unpriced_input_tokens", ({ measures }) => measures.unpricedInputTokens],
  ["unpriced_output_tokens", ({ measures }) => measures.unpricedOutputTokens],
  ["unpriced_cached_input_tokens", ({ measures }) => measures.unpricedCachedInputTokens],
];

function columnsFor(groupBy: Grouping): readonly CsvColumn[] {
  if (groupBy !== "model") return [[groupBy, ({ key }) => textCell(key)], ...SUM_COLUMNS];
  return [
    ["provider", ({ model }) => textCell(model?.provider ?? "")],
    ["model", ({ model, key }) => textCell(model?.model ?? key)],
    ...SUM_COLUMNS,
  ];
}
