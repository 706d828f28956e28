/** Reads the answer of a spend page. */
import { nullIfRefused, unlessRefused } from "../../../domain/core/errors.ts";
import { dailySpendOf } from "../../../domain/spend/daily.ts";
import { parseUnpricedQuery, type SpendQuery } from "../../../domain/spend/spend_query.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { queryOf } from "../../http/query.ts";
import { askSpend, rowsOf, unpricedModels } from "../../api/spend/spend.ts";
import { commandTarget } from "../components/first_command.tsx";
import type { Visit } from "../layout/page.tsx";

/** The answer to the query of a page. */
export type SpendData = Awaited<ReturnType<typeof loadSpend>>;

/**
 * Reads the groups by day, the cost of as many days before, the models without a price, and how to
 * send a first run. Refuses a query that reads too much.
 */
export async function loadSpend(visit: Visit, query: SpendQuery) {
  const { c, deps, team } = visit;
  const read = rowsOf(deps.spend, team, query);
  const spend = await deps.spend.ask(team, () => dailySpendOf(query, read));
  const firstMs = Date.parse(query.from);
  const from = dayOf(2 * firstMs - Date.parse(query.to) - DAY_MS);
  const to = dayOf(firstMs - DAY_MS);
  const before = await askSpend(deps, team, { ...query, groupBy: "day", from, to })
    .catch(nullIfRefused);
  const { runs, unpricedCalls, uncountedCalls } = spend.totals;
  const unpriced = unlessRefused(
    () => parseUnpricedQuery(queryOf(c), deps.environment.now()),
    () => null,
  );
  const models = unpriced !== null && unpricedCalls + uncountedCalls > 0
    ? await unpricedModels(deps, team, unpriced).catch(nullIfRefused)
    : null;
  return {
    ...{ query, spend },
    before: before?.totals.cost ?? null,
    unpriced: models,
    target: runs === 0 ? await commandTarget(visit) : null,
  };
}
