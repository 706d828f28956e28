/** `GET /v1/spend` and `GET /v1/spend/unpriced`. */
import { DEFAULT_RATES } from "../domain/money/default_rates.ts";
import { spendOf } from "../domain/spend/spend.ts";
import {
  parseSpendQuery,
  parseUnpricedQuery,
  type SpendQuery,
} from "../domain/spend/spend_query.ts";
import { nearestPriced } from "../domain/money/sibling.ts";
import { unpricedOf } from "../domain/spend/unpriced.ts";
import { answer, fail } from "./answer.ts";
import type { AppDeps, Handle, RequestContext } from "./context.ts";
import { queryOf } from "./query.ts";
import { spendJson, unpricedJson } from "./spend_json.ts";

export function getSpend({ spend, environment }: AppDeps): Handle {
  return async (c) => {
    const query = parseSpendQuery(queryOf(c), environment.now());
    if (!query.ok) return fail(c, query.problem);
    const sums = await spendOf(query.value, rowsOf(c, spend, query.value));
    if (!sums.ok) return fail(c, sums.problem);
    return answer(c, 200, spendJson(query.value, sums.value));
  };
}

export function getUnpriced({ spend, environment, rateCards }: AppDeps): Handle {
  return async (c) => {
    const query = parseUnpricedQuery(queryOf(c), environment.now());
    if (!query.ok) return fail(c, query.problem);
    const { team } = c.get("principal");
    const own = (await rateCards.rows(team)).map(({ row }) => row);
    const rows = [...own, ...DEFAULT_RATES.rows];
    const models = await unpricedOf(
      query.value,
      rowsOf(c, spend, query.value),
      ({ provider, model }) => nearestPriced(rows, provider, model),
    );
    if (!models.ok) return fail(c, models.problem);
    return answer(c, 200, unpricedJson(query.value, models.value));
  };
}

/** Reads the team's own rows of the days asked for. */
function rowsOf(c: RequestContext, spend: AppDeps["spend"], { from, to }: SpendQuery) {
  const { team } = c.get("principal");
  return (kind: Parameters<typeof spend.rows>[1]) => spend.rows(team, kind, from, to);
}
